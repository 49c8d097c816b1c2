/** Resolves after all pending work, and all work that follows from it, has had time to run. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 6; round++) await new Promise((resolve) => setImmediate(resolve));
}
