"""Makes parting_ias15_24x24.npy: times of parting of the headline map's region by REBOUND's IAS15 (Rein & Spiegel 2015, MNRAS 446, 1424).

A number counts samples, 0.002 apart, up to the first at which the twins are more than 0.5 apart; 25000 (time 50) stands for never.
Rows are y and columns are x of the grid body. Tolerances of IAS15 of 1e-9 and 1e-6 give the same times. Made with rebound 4 and numpy;
it takes a few minutes.
"""

import numpy as np
import rebound

SIDE, SPAN, SAMPLE, SAMPLES = 24, 40.0, 0.002, 25000


def simulation(x, y, shift):
    sim = rebound.Simulation()
    sim.G, sim.integrator = 9.8, "ias15"
    sim.add(m=10, x=x + shift, y=y + shift, z=-11 + shift, vx=-3)
    sim.add(m=20)
    sim.add(m=30, x=10, y=10, z=12, vx=3)
    return sim


def samples_together(x, y):
    twins = [simulation(x, y, shift) for shift in (0, 1e-3)]
    p, q = (sim.particles[0] for sim in twins)
    for sample in range(1, SAMPLES + 1):
        for sim in twins:
            sim.integrate(sample * SAMPLE)
        if not (p.x - q.x) ** 2 + (p.y - q.y) ** 2 + (p.z - q.z) ** 2 <= 0.25:
            return sample
    return SAMPLES


places = [-SPAN / 2 + SPAN * (n / SIDE) for n in range(SIDE)]
times = np.array([[samples_together(x, y) for x in places] for y in places], np.uint32)
np.save("parting_ias15_24x24.npy", times)
