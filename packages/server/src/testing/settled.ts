/** Resolves when what is under way, sockets included, has had its chance to happen. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
}
