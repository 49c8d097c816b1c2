import { expect, test, vi } from 'vitest';
import { createTestAgent, problemsLeftIn, session } from '../testing/test-agent.ts';
import { inputGuardrail } from './define-guardrail.ts';

// A client sends thousands of short messages. The guardrails of the agent check each of them before the next request.

const parts = [{ kind: 'text', text: 'm' }] as const;
const inputs = (count: number) =>
  Array.from({ length: count }, () => ({ kind: 'user', parts }) as const);
const change = inputGuardrail({
  name: 'change',
  check: ({ text }) => ({ verdict: 'change', to: `${text}.` }),
});
const pass = inputGuardrail({ name: 'pass', check: () => 'pass' });

test('18.1158: attack: after each changed input, all items of the session are computed again', async () => {
  let computed = 0;
  const { agent, end, log } = createTestAgent(['Thanks.'], {
    guardrails: [change, pass],
    contextFilters: [
      (items) => {
        computed++;
        return items;
      },
    ],
  });
  const { reason } = await end(agent.run(inputs(300), { session }));
  expect(reason).toBe('stop');
  expect(computed).toBeLessThan(10);
  expect(await problemsLeftIn(log)).toEqual([]);
});

/** Returns the number of entries that the program copied from map to map while it checked the inputs. */
async function copiedFor(count: number) {
  const { agent, end } = createTestAgent(['Thanks.'], { guardrails: [change, pass] });
  const iterate = Map.prototype[Symbol.iterator];
  let copied = 0;
  const spy = vi.spyOn(Map.prototype, Symbol.iterator).mockImplementation(function (
    this: Map<unknown, unknown>,
  ) {
    copied += this.size;
    return iterate.call(this);
  });
  try {
    expect((await end(agent.run(inputs(count), { session }))).reason).toBe('stop');
  } finally {
    spy.mockRestore();
  }
  return copied;
}

test('18.1159: attack: each verdict copies the verdicts on all inputs', async () => {
  const [few, many] = [await copiedFor(100), await copiedFor(800)];
  expect(few).toBeGreaterThan(0);
  // Eight times as many inputs. A square would be 64 times as many entries.
  expect(many).toBeLessThan(16 * few);
});

test('18.1158: each guardrail reads the items with the changes of earlier inputs, also later', async () => {
  const read: (() => string)[] = [];
  const look = inputGuardrail({
    name: 'look',
    check: (checked) => {
      read.push(() =>
        checked.items
          .flatMap((item) => item.parts.map((part) => ('text' in part ? part.text : '')))
          .join(' '),
      );
      return read.length % 2 === 0 ? 'pass' : { verdict: 'change', to: `${checked.text}!` };
    },
  });
  const { agent, end } = createTestAgent(['Thanks.'], { guardrails: [look] });
  await end(agent.run(inputs(4), { session }));
  expect(read.map((text) => text())).toEqual(['m m m m', 'm! m m m', 'm! m m m', 'm! m m! m']);
});
