import type { Run, RunResult } from '@millrace/agent';
import type { RunId, SessionId } from '@millrace/core';

/**
 * Returns a run whose agent is not built yet. All its methods wait for the real run. Until then, its `id` is the
 * id of the session.
 */
export function deferredRun(session: SessionId, starting: Promise<Run>): Run {
  starting.catch(() => {});
  const events: Run['events'] = {
    async *[Symbol.asyncIterator]() {
      yield* (await starting).events;
    },
  };
  return {
    session,
    id: session as unknown as RunId,
    events,
    epoch: starting.then(({ epoch }) => epoch),
    result: starting.then(({ result }): Promise<RunResult> => result),
    toReadableStream: unsupported,
    toEventStream: unsupported,
    toUIMessageStreamResponse: unsupported,
    text: async () => (await starting).text(),
    value: async () => (await starting).value(),
    abort: async (reason) => (await starting).abort(reason),
    steer: async (input) => (await starting).steer(input),
    followUp: async (input) => (await starting).followUp(input),
    compact: async () => (await starting).compact(),
    approve: async (call, options) => (await starting).approve(call, options),
    deny: async (call, options) => (await starting).deny(call, options),
    provideToolResult: async (call, result) => (await starting).provideToolResult(call, result),
  };
}

function unsupported(): never {
  throw new Error('A deferred run has no streams. Follow its session on the log');
}
