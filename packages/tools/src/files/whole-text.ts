import { z } from 'zod';

const maxLength = 10_000_000;

/** Text of a model that can be kept in a file: half of a character cannot. */
export function wholeText(name: string): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine((text) => text.isWellFormed(), {
      error: `${name} has half of a character (a lone surrogate). Write the whole one`,
    });
}
