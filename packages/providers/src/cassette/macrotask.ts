/** Calls back when everybody else had their turn; what it gives takes it back. */
export function macrotask(run: () => void): () => void {
  // Where there is setImmediate, because a timer of 0 ms takes one: 20,000 chunks would take 20 s.
  if (typeof setImmediate === 'function') {
    const task = setImmediate(run);
    return () => clearImmediate(task);
  }
  const timer = setTimeout(run, 0);
  return () => clearTimeout(timer);
}
