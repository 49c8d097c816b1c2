import type { ModelWorld } from './model-world.ts';

/** What a step picks depends on its numbers and on what is there by then. */
export interface Numbers {
  readonly a: number;
  readonly b: number;
}

/** Does it in the log and in the reference, compares, and tells in a word what became of it. */
export type Act = (world: ModelWorld, numbers: Numbers) => Promise<string>;
