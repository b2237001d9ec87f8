"""`bench`: this machine's speed beside captum's and inseq's, as ratios in one run; and what the paper's grid would take.

Every pair is timed alternately, the best of a few rounds, on random weights of real shapes, and its scores are compared:
a ratio of two things that do not compute the same would mean nothing. Ours is asked as the batch job asks it, with the
clean pass in its time. Captum's feature ablation is timed over `SAMPLED` of the positions and scaled (each position costs
the same), at the best of several `perturbations_per_eval`. `precision` says what bfloat16 does to the scores.
"""
