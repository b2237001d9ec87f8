"""Our explainers' speed beside captum's and inseq's, as ratios in one run; and the hours of the paper's grid.

Both of a pair are timed in turns, on random weights of real shapes; the best of a few rounds counts. Their scores are compared
too, because a ratio only makes sense if both compute the same. Our time includes the clean pass, as in the batch job. Captum's
feature ablation is timed over `SAMPLED` positions and scaled (each position costs the same), with the best of several
`perturbations_per_eval`. `shortcuts` compares bfloat16 and screens with exact scores.
"""
