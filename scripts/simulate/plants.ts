/** Faults of earlier versions that the simulation can put back, to show that it finds them. */
export const plants = ['A', 'B', 'C'] as const;
export type Plant = (typeof plants)[number];
