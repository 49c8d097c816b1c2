// One for the process, because several workspaces may share files: a sub-agent's root may be in another's.
const last = new Map<string, Promise<unknown>>();

/** Works on a path alone: whoever asks for it meanwhile waits, in the order of asking. */
export async function withPathLock<T>(real: string, work: () => Promise<T>): Promise<T> {
  const before = last.get(real);
  const mine = (async () => {
    await before;
    return work();
  })();
  const settled = mine.catch(() => {});
  last.set(real, settled);
  try {
    return await mine;
  } finally {
    if (last.get(real) === settled) last.delete(real);
  }
}
