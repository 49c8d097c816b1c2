import { type Part, toolCallId } from '@millrace/core';
import type { ConformanceAnswer, ConformanceSubject } from '../../conformance/subject.ts';
import { scriptedProvider } from '../../scripted/scripted-provider.ts';
import { wireEvents } from '../../scripted-server/answers/wire-events.ts';
import { wireFraming } from '../../scripted-server/framing/frame-recording.ts';
import { sseFrames } from '../../scripted-server/framing/sse-frames.ts';
import { helloItems } from '../hello-items.ts';
import type { wireTable } from '../wire-table.ts';

/** The scripted provider, with the same answer to several requests. */
export const scriptedSubject: ConformanceSubject = {
  provider: async ({ reasoning, text, toolCalls: calls = [], stop, ends = 'whole' }) => {
    const parts: readonly Part[] = [
      ...(reasoning ? [{ kind: 'reasoning', form: 'full', text: reasoning } as const] : []),
      ...(text ? [{ kind: 'text', text } as const] : []),
      ...calls.map(
        (call, index) =>
          ({ kind: 'tool_call', toolCallId: toolCallId(`c${index}`), ...call }) as const,
      ),
    ];
    const content = { parts };
    let steps = 0;
    const onStep = () => {
      steps++;
    };
    await scriptedProvider([{ content }]).complete({ items: helloItems }, { onStep });
    // The fault comes after the content, but before the last part is committed and the response
    // ends.
    const fault = { after: steps - 2, error: 'overloaded' } as const;
    const response = {
      content,
      stop,
      fault: ends === 'whole' ? undefined : { ...fault, type: ends },
    };
    return scriptedProvider(Array.from({ length: 4 }, () => response));
  },
};

/** Returns a body that ends after its frames, or stalls until it is cancelled. */
function bodyOf(frames: readonly Uint8Array[], isStalling: boolean): ReadableStream<Uint8Array> {
  const left = [...frames];
  return new ReadableStream(
    {
      pull: (stream) => {
        const next = left.shift();
        if (next !== undefined) stream.enqueue(next);
        else if (!isStalling) stream.close();
        else return new Promise(() => {});
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns a provider of a real wire. Its answers are those of the scripted server. */
export function wireSubject(under: (typeof wireTable)[number]): ConformanceSubject {
  return {
    limitations: under.wire === 'gemini' ? ['open_calls'] : [],
    provider: (answer) => {
      const frames = framesOf(under, answer);
      const fetcher: typeof fetch = async () =>
        new Response(bodyOf(frames, answer.ends === 'stall'), {
          headers: { 'content-type': 'text/event-stream' },
        });
      return under.provider(fetcher, '');
    },
  };
}

function framesOf(
  { wire }: (typeof wireTable)[number],
  answer: ConformanceAnswer,
): readonly Uint8Array[] {
  const { reasoning, text, toolCalls: calls, stop, ends = 'whole' } = answer;
  const failure = { type: 'overloaded_error', message: 'Overloaded' };
  const events = wireEvents(wire, {
    ...(reasoning !== undefined && { reasoning, signature: 'signed' }),
    ...(text !== undefined && { text }),
    ...(calls && { toolCalls: calls.map((call, index) => ({ id: `call_${index}`, ...call })) }),
    ...(stop && { stop }),
    usage: { input: 10, output: 5 },
    ...(ends !== 'whole' && { failure }),
  });
  // A failed answer ends with error events. They are sent only if `ends` is `error`.
  const failures = wire === 'openai-responses' ? 2 : 1;
  const sent = ends === 'whole' || ends === 'error' ? events : events.slice(0, -failures);
  return sseFrames(sent, { ...wireFraming[wire], ...(ends !== 'whole' && { done: false }) });
}
