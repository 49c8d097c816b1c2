/** Told of the steps that were made, each of about the same cost: how tests see that work is linear. */
export type OnWork = (steps: number) => void;
