import type { Item } from '@millrace/core';
import { type ModelRequest, openaiChat } from '@millrace/providers';
import type { ScriptEntry } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { startOllama } from '../../../providers/src/testing/ollama-server.ts';
import { createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  problemsLeftIn,
  session,
  type TestAgentOptions,
  tool,
  types,
} from '../testing/test-agent.ts';

const overflow = { type: 'error', after: 0, error: 'context_overflow' } as const;

/** Returns the length that a server counts: every text, argument and result of the request, in characters. */
const lengthOf = ({ items, tools = [] }: ModelRequest): number =>
  JSON.stringify([items.map(({ parts }) => parts), tools]).length;

const isSummary = (items: readonly Item[]) => items.at(-1)?.id === 'summarise';

interface SmallModel {
  /** Longer requests are refused, in characters. */
  readonly window: number;
  /** The length of each answer, of each summary and of each tool result, in characters. */
  readonly answers: number;
  readonly summaries: number;
  readonly results: number;
  /** The number of calls that the model makes before it answers. */
  readonly calls: number;
}

/** A model with a small window on a server that refuses longer requests, as llama.cpp does. */
function smallModel({ window, answers, summaries, results, calls }: SmallModel) {
  const sent: number[] = [];
  let made = 0;
  const respond: ScriptEntry = (request) => {
    const length = lengthOf(request);
    sent.push(length);
    if (length > window) return { ...answer('Never said'), fault: overflow };
    if (isSummary(request.items)) return { ...answer('s'.repeat(summaries) || ' ') };
    made++;
    if (made % (calls + 1) !== 0)
      return answer(call(`c${made}`, 'look', { at: 'a'.repeat(answers) }));
    return answer(`Answer ${'b'.repeat(answers)}`);
  };
  const look = tool('look', async () => 'r'.repeat(results), { effects: 'none' });
  return { script: Array.from({ length: 400 }, () => respond), sent, tools: [look] };
}

const options = { compaction: { whenTokens: 1e9 } } satisfies TestAgentOptions;

describe('19.17: after an overflow the session goes on', () => {
  test('with fewer steps than compaction keeps', async () => {
    const model = { window: 3000, answers: 200, summaries: 200, results: 0, calls: 0 };
    const { script, tools } = smallModel(model);
    const stage = createTestAgent(script, { ...options, tools });
    for (const length of [1000, 1000, 1000, 1000, 1000, 1000]) {
      const { stop } = await stage.end(stage.agent.run('q'.repeat(length), { session }));
      expect(stop.reason).toBe('stop');
    }
    expect(types(stage.records)).toContain('compacted');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('with one message that is longer than the window: it is clipped, with a note', async () => {
    const model = { window: 3000, answers: 100, summaries: 200, results: 0, calls: 0 };
    const { script, tools } = smallModel(model);
    const stage = createTestAgent(script, { ...options, tools });
    const asked = `START ${'q'.repeat(20_000)} END`;
    const { text, stop, items } = await stage.end(stage.agent.run(asked, { session }));
    expect([stop.reason, text.slice(0, 6)]).toEqual(['stop', 'Answer']);
    const sent = JSON.stringify(stage.provider.requests.at(-1)?.request.items);
    expect(sent).toContain('START');
    expect(sent).toContain('END');
    expect(sent).toMatch(/characters are left out/);
    // The transcript keeps the whole message.
    expect(JSON.stringify(items)).not.toContain('left out');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('with one result that is longer than the window', async () => {
    const model = { window: 3000, answers: 100, summaries: 200, results: 20_000, calls: 1 };
    const { script, tools } = smallModel(model);
    const stage = createTestAgent(script, { ...options, tools });
    const { stop } = await stage.end(stage.agent.run('Look', { session }));
    expect(stop.reason).toBe('stop');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('if the summary is cut, refused or empty: the old steps are dropped, and the last request stays', async () => {
    const summaries: readonly ScriptEntry[] = [
      { ...answer('The user said tha'), stop: 'length' },
      { ...answer('I cannot help with that.'), stop: 'refusal' },
      answer(),
      { ...answer('Never'), fault: overflow },
    ];
    for (const summary of summaries) {
      const respond: ScriptEntry = (request) => {
        if (isSummary(request.items)) return summary as never;
        if (lengthOf(request) > 3000) return { ...answer('Never said'), fault: overflow };
        return answer('b'.repeat(500));
      };
      const script = Array.from({ length: 100 }, () => respond);
      const stage = createTestAgent(script, options);
      for (const asked of ['one', 'two', 'three', 'four', 'five', 'six', 'seven']) {
        const { stop } = await stage.end(
          stage.agent.run(`${asked} ${'q'.repeat(500)}`, { session }),
        );
        expect(stop.reason).toBe('stop');
      }
      const last = JSON.stringify(stage.provider.requests.at(-1)?.request.items);
      expect(last).toContain('seven');
      expect(last).toContain('left out');
      expect(await problemsLeftIn(stage.log)).toEqual([]);
    }
  });

  test('in a new run, and by a compact command', async () => {
    const model = { window: 3000, answers: 100, summaries: 200, results: 0, calls: 0 };
    const { script, tools } = smallModel(model);
    // Without compaction settings the overflow ends the run.
    const stage = createTestAgent(script, { tools });
    for (const length of [1000, 1000]) {
      const { stop } = await stage.end(stage.agent.run('q'.repeat(length), { session }));
      expect(stop.reason).toBe('stop');
    }
    const refused = await stage.end(stage.agent.run('q'.repeat(1000), { session }));
    expect(refused.stop).toEqual({ reason: 'error', cause: 'context_overflow' });
    await stage.log.submit(session, { type: 'compact' }, 'k');
    const resumed = await stage.end(stage.agent.resume(session));
    expect(resumed.stop.reason).toBe('stop');
    expect(resumed.text).toContain('Answer');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('unless the instructions alone are too long: the run ends, and the log is sound', async () => {
    const model = { window: 3000, answers: 100, summaries: 200, results: 0, calls: 0 };
    const { script, tools, sent } = smallModel(model);
    const instructions = 'i'.repeat(4000);
    const stage = createTestAgent(script, { ...options, tools, instructions });
    const { stop } = await stage.end(stage.agent.run('q'.repeat(1000), { session }));
    expect(stop).toEqual({ reason: 'error', cause: 'context_overflow' });
    expect(sent.length).toBeLessThan(20);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('for random histories, windows, summaries and results', async () => {
    const models = fc.record({
      window: fc.integer({ min: 3000, max: 12_000 }),
      answers: fc.integer({ min: 0, max: 3000 }),
      summaries: fc.integer({ min: 0, max: 9000 }),
      results: fc.integer({ min: 0, max: 20_000 }),
      calls: fc.integer({ min: 0, max: 3 }),
    });
    const questions = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 6 });
    const keeps = fc.integer({ min: 1, max: 8 });
    await fc.assert(
      fc.asyncProperty(models, questions, keeps, async (model, lengths, keepSteps) => {
        const { script, tools } = smallModel(model);
        const compaction = { whenTokens: 1e9, keepSteps };
        const stage = createTestAgent(script, { compaction, tools });
        for (const length of lengths) {
          const { stop } = await stage.end(stage.agent.run('q'.repeat(length), { session }));
          expect(stop.reason).toBe('stop');
        }
        expect(await problemsLeftIn(stage.log)).toEqual([]);
      }),
      { numRuns: runs(150) },
    );
  });
});

test('19.16: a session with Ollama is compacted before Ollama cuts a request', async () => {
  const server = await startOllama();
  const provider = openaiChat({ preset: 'ollama', model: 'qwen3', baseUrl: server.baseUrl });
  const instructions = 'Always answer in French.';
  const agent = createAgent({ provider, instructions, compaction: { whenTokens: 150_000 } });
  for (const words of [1000, 1000, 1000, 1000, 1000, 4000]) {
    const { stop, text } = await agent.run('word '.repeat(words), { session }).result;
    expect([stop.reason, text]).toEqual(['stop', 'Hello.']);
  }
  await server.close();
  expect(Math.max(...server.sentTokens)).toBeLessThan(4096);
  for (const { messages } of server.bodies)
    expect(JSON.stringify(messages)).toMatch(/answer in French|Summarise/);
});
