export interface JoinedSignals {
  readonly signal: AbortSignal;
  /** Lets go of the others: one of them may live as long as the program. */
  readonly release: () => void;
}

/** A signal that is aborted, with the same reason, by the first of these that is. */
export function joinSignals(signals: readonly (AbortSignal | undefined)[]): JoinedSignals {
  const joined = new AbortController();
  const releases = signals.map((signal) => signal && follow(signal, joined));
  return {
    signal: joined.signal,
    release: () => {
      for (const release of releases) release?.();
    },
  };
}

function follow(signal: AbortSignal, joined: AbortController): () => void {
  const abort = () => joined.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return () => signal.removeEventListener('abort', abort);
}
