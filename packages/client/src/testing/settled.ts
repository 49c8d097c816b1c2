/** Resolves after all pending work, and the work that follows from it, had a chance to run. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 6; round++) await new Promise((resolve) => setImmediate(resolve));
}
