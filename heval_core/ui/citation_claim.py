def choose(shown): return None
def draw(results, shown, chosen, steps): pass
