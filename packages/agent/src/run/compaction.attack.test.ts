import { type Item, itemId, randomIds } from '@millrace/core';
import { expect, test } from 'vitest';
import { inputGuardrail } from '../guardrails/define-guardrail.ts';
import { submitCommand } from '../input/submit-command.ts';
import { itemDrafts } from '../state/drafts.ts';
import { createTestAgent, problemsLeftIn, session } from '../testing/test-agent.ts';

// A client wants a compaction to send a text to the model that a guardrail of the agent refuses. It writes the text to
// the log without a run, as a server does for a list of messages.

const noMagic = inputGuardrail({
  name: 'no-magic',
  check: ({ text }) => (text.includes('magic') ? { verdict: 'stop', reason: 'no magic' } : 'pass'),
});

const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
const said = (id: string, ...texts: readonly string[]): Item => ({
  ...{ id: itemId(id), kind: 'user' },
  parts: texts.map((text) => ({ kind: 'text', text })),
});
const filler = Array.from({ length: 8 }, (_, at) => said(`f${at}`, `filler ${at}`));

/** The places of an input without a content, which no context contains. */
const lists = {
  'before the text': [said('empty'), said('m', 'magic'), ...filler],
  'after checked inputs': [...filler, said('empty'), said('m', 'magic'), ...filler],
  'before and after the text': [said('e1'), said('m', 'magic'), said('e2'), ...filler],
  'in front of a calm text': [said('e1'), said('calm', 'calm'), said('m', 'magic'), ...filler],
} as const;

test.each(Object.entries(lists))(
  '18.1026: attack: a message without a content stands %s, and a command summarizes all',
  async (_place, items) => {
    const { agent, end, provider, log } = createTestAgent(
      ['Hello.', 'Summary', 'Two.', 'Three.', 'Four.'],
      { guardrails: [noMagic] },
    );
    await end(agent.run('Hello', { session }));
    const unique = items.map((item, at) => ({ ...item, id: itemId(`${item.id}-${at}`) }));
    const driver = await log.open(session);
    await driver.append(itemDrafts(unique, ids));
    await driver.release();
    await submitCommand(log, session, { type: 'compact' });
    await end(agent.resume(session));
    await submitCommand(log, session, { type: 'compact' });
    await end(agent.run('And now?', { session }));
    const sent = JSON.stringify(provider.requests.map(({ request }) => request.items));
    expect(sent).not.toContain('magic');
    expect(await problemsLeftIn(log)).toEqual([]);
  },
);
