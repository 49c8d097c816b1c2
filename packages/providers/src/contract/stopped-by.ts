import type { StreamContext } from './provider.ts';

/** The same context, whose signal is also aborted by this one. */
export function stoppedBy(context: StreamContext, left: AbortSignal): StreamContext {
  const { signal } = context;
  return { ...context, signal: signal === undefined ? left : AbortSignal.any([signal, left]) };
}
