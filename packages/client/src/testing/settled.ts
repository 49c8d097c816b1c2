/** Resolves when what is under way, and what that sets off, has had its chance to happen. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 6; round++) await new Promise((resolve) => setImmediate(resolve));
}
