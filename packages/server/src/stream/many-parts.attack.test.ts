import { expect, test } from 'vitest';
import { serveOpenAi } from '../testing/openai-client.ts';
import { searchStepsOf } from '../testing/servers/steps-of.ts';

// A reader of one session wants a small request to stop the server for all others.

/** Creates a session with a message of many parts. Returns a function that reads its stream from the start. */
async function sessionWithParts(count: number) {
  const { url } = await serveOpenAi(['Done.']);
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify(body),
    });
  const content = Array(count).fill({ type: 'input_text', text: 'x' });
  const input = [{ role: 'user', content }];
  expect((await post('/v1/responses', { model: 'helper', input })).status).toBe(200);
  const [task] = (await (await fetch(`${url}/tasks`)).json()) as { readonly id: string }[];
  return async (view: string, last: string) => {
    const stop = new AbortController();
    const headers = { 'last-event-id': '0' };
    const { body } = await fetch(`${url}/tasks/${task?.id}/stream?view=${view}`, {
      ...{ headers, signal: stop.signal },
    });
    let text = '';
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes(last)) break;
    }
    stop.abort();
    return text;
  };
}

test('attack 18.412: the work for a stream grows with the parts of a message, and not with their square', async () => {
  const [few, many] = [await sessionWithParts(300), await sessionWithParts(600)];
  for (const [view, last] of [
    ['events', 'run_finished'],
    ['updates', 'Done.'],
  ] as const) {
    const steps = await searchStepsOf(() => few(view, last));
    expect(await searchStepsOf(() => many(view, last))).toBeLessThan(2.5 * steps);
  }
});
