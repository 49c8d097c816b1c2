/** Why somebody's work was stopped. */
export type StopKind = 'interrupt' | 'close_task' | 'close_server';

/** What a signal is aborted with. It reads as an abort to those who know nothing of it. */
export class Stopped extends Error {
  override readonly name = 'AbortError';
  readonly kind: StopKind;

  constructor(kind: StopKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export function stopKindOf(signal: AbortSignal): StopKind | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof Stopped ? signal.reason.kind : 'interrupt';
}
