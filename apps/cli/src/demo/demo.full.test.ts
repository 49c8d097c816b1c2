import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, type Run, type RunInput } from '@millrace/agent';
import { type Item, liveTranscript, type Part, sessionId } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  flushPendingWork,
  runToEnd,
  VirtualClock,
} from '../../../../packages/agent/src/testing/virtual-time.ts';
import { runs } from '../../../../packages/core/src/testing/runs.ts';
import { everythingIn } from '../../../../packages/tools/src/testing/temporary-folder.ts';
import { folderWith, type TestAgent, testAgent } from '../testing/test-agent.ts';
import { demoProvider } from './demo-provider.ts';
import { essaySections } from './essay.ts';

const session = sessionId('s');
const project = {
  'README.md': '# Tide tables\n\nThey tell when.\n',
  'package.json': '{ "name": "tides" }\n',
  'src/a.ts': '// TODO: the moon\n// FIXME: the sun\n',
  'src/b.ts': 'export {};\n',
  '.env': 'KEY=hush-hush',
  'secrets.md': 'hush-hush',
};

const demoIn = (files: Readonly<Record<string, string>> = project) => {
  const cwd = folderWith(files);
  return testAgent({ provider: demoProvider({ cwd, pauseMs: 0 }), cwd });
};

type Answer = (run: Run, id: Parameters<Run['approve']>[0]) => Promise<void>;
const allow: Answer = (run, id) => run.approve(id);
const deny: Answer = (run, id) => run.deny(id, { reason: 'not today' });

/** Sends a message, and answers approval requests with `answer`. */
async function say({ agent }: Pick<TestAgent, 'agent'>, input: RunInput, answer: Answer = allow) {
  const run = agent.run(input, { session });
  const asked: string[] = [];
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.name);
    await answer(run, event.toolCallId);
  }
  return { ...(await run.result), asked };
}

const partsOf = (items: readonly Item[]) => items.flatMap(({ parts }): readonly Part[] => parts);
const textOf = (items: readonly Item[]) =>
  partsOf(items)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');
/** Returns the names of the calls in each turn. */
const callsOf = (items: readonly Item[]) =>
  items
    .filter(({ kind }) => kind === 'assistant')
    .map(({ parts }) => parts.flatMap((part) => (part.kind === 'tool_call' ? [part.name] : [])));
/** Returns all text of the session, including unfinished text. */
const said = async ({ log }: Pick<TestAgent, 'log'>) =>
  liveTranscript(await snapshot(log, session));

describe('the first message starts a tour, which', () => {
  test('thinks, speaks, looks, reads several things at once, asks to write, and ends', async () => {
    const demo = await demoIn();
    const { items, asked, stop, text } = await say(demo, 'Good morning');
    expect(stop.reason).toBe('stop');
    expect(callsOf(items)).toEqual([['ls'], ['read', 'read', 'ls', 'grep'], ['write'], []]);
    expect(items[0]?.parts.map(({ kind }) => kind)).toEqual(['reasoning', 'text', 'tool_call']);
    expect(partsOf(items)[0]).toMatchObject({ text: expect.stringContaining('“Good morning”') });
    expect(asked).toEqual(['write']);
    expect(text).toContain('Thank you. Created millrace-demo.md');
  });

  test('tells what is really there, and writes it down', async () => {
    const demo = await demoIn();
    const { items } = await say(demo, 'Good morning');
    expect(textOf(items)).toContain('| `README.md` | 3 | Tide tables |');
    expect(textOf(items)).toContain('| `src/` | 2 inside | a folder |');
    expect(textOf(items)).toContain('I found 2 TODO notes');
    const written = readFileSync(join(demo.cwd, 'millrace-demo.md'), 'utf8');
    expect(written).toContain('- Files here: 4\n- Read: README.md, package.json\n');
  });

  test('changes nothing where that is denied, and says so with the reason', async () => {
    const demo = await demoIn();
    const { text, stop } = await say(demo, 'Good morning', deny);
    expect([stop.reason, existsSync(join(demo.cwd, 'millrace-demo.md'))]).toEqual(['stop', false]);
    expect(text).toContain('nothing was changed. The reason given: “not today”');
  });

  test('reads nothing that looks secret or is hidden', async () => {
    const demo = await demoIn();
    const { items } = await say(demo, 'Good morning');
    expect(JSON.stringify(items)).not.toContain('hush-hush');
  });

  test.each<[string, Readonly<Record<string, string>>, readonly string[][]]>([
    ['an empty folder', {}, [['ls'], ['write'], []]],
    ['one with nothing to read', { 'a.bin': '\0' }, [['ls'], ['write'], []]],
    ['one with folders alone', { 'a/b': '' }, [['ls'], ['ls', 'grep'], ['write'], []]],
  ])('goes well in %s', async (_what, files, calls) => {
    const { items, stop } = await say(await demoIn(files), 'Good morning');
    expect([stop.reason, callsOf(items)]).toEqual(['stop', calls]);
  });

  test('counts later visits with an edit, and does not change a file that it did not write', async () => {
    const demo = await demoIn();
    await say(demo, 'Good morning');
    const again = await say(demo, 'Take the tour again');
    expect(again.asked).toEqual(['edit']);
    expect(readFileSync(join(demo.cwd, 'millrace-demo.md'), 'utf8')).toContain('\nVisit 2.\n');
    const other = await demoIn({ 'millrace-demo.md': 'mine' });
    await say(other, 'Good morning');
    expect(Object.keys(everythingIn(other.cwd))).toEqual([
      'millrace-demo-2.md',
      'millrace-demo.md',
    ]);
    expect(readFileSync(join(other.cwd, 'millrace-demo.md'), 'utf8')).toBe('mine');
  });

  test('uses the tools that there are, and says so where there are none', async () => {
    const agent = createAgent({ provider: demoProvider({ pauseMs: 0 }), log: memoryLog() });
    const { text, stop } = await say({ agent }, 'Good morning');
    expect([stop.reason, text]).toEqual(['stop', expect.stringContaining('no tools here')]);
    const cwd = folderWith(project);
    const provider = demoProvider({ cwd, pauseMs: 0 });
    const readOnly = { permissions: { mode: 'read-only', rules: [] } } as const;
    const reader = await testAgent({ provider, cwd, config: readOnly });
    const { items } = await say(reader, 'Good morning');
    expect(callsOf(items)).toEqual([['ls'], ['read', 'read', 'ls', 'grep'], []]);
  });

  test('goes on where it was when it is stopped at the question, and asks again', async () => {
    const demo = await demoIn();
    const stopped = await say(demo, 'Good morning', (run) => run.abort());
    expect(stopped.stop.reason).toBe('aborted');
    const { asked, items } = await say(demo, 'Go on');
    expect(asked).toEqual(['write']);
    expect(textOf(items)).toMatch(/^You stopped me\./);
    expect(existsSync(join(demo.cwd, 'millrace-demo.md'))).toBe(true);
  });

  test('receives messages that arrive meanwhile, and continues', async () => {
    const demo = await demoIn();
    const { items, stop } = await say(demo, 'Good morning', async (run, id) => {
      await run.steer('and hurry');
      await run.approve(id);
    });
    expect(stop.reason).toBe('stop');
    expect(textOf(items)).toContain('I received “and hurry” while I was working');
    expect(textOf(items)).toContain('Thank you.');
  });
});

describe('the long answer', () => {
  test('follows the tour for any message, and has everything that long answers have', async () => {
    const demo = await demoIn();
    await say(demo, 'Good morning');
    const { text } = await say(demo, 'Hm.');
    expect(text.split('\n').length).toBeGreaterThanOrEqual(120);
    for (const form of [/^```ts$/m, /^- /m, /^\d\. /m, /^\| --- \|/m, /^> /m, /^## /m])
      expect(text).toMatch(form);
    expect((await say(demo, 'Hm.')).text).toContain('That was everything');
  });

  test.each(['a long one, please', 'Tell me a story', 'Write an ESSAY'])(
    'comes at once for %j',
    async (words) => {
      const { text } = await say(await demoIn(), words);
      expect(text).toContain(essaySections.at(-1));
    },
  );

  /** Stops the demo in a section. The clock does not advance while it stops. */
  async function stoppedIn(section: number) {
    const clock = new VirtualClock();
    const cwd = folderWith();
    const log = memoryLog();
    const demo = await testAgent({ provider: demoProvider({ cwd, clock }), cwd, log, clock });
    const run = demo.agent.run('Tell me a story', { session });
    const heading = essaySections[section]?.split('\n')[0] ?? '';
    while (!textOf(await said(demo).catch(() => [])).includes(heading)) {
      clock.advance(16);
      await flushPendingWork();
    }
    const { stop } = await runToEnd(
      clock,
      run.abort().then(() => run.result),
    );
    expect(stop.reason).toBe('aborted');
    return { log, cwd };
  }

  test('goes on with the section in which it was stopped, in another process too, and says so', async () => {
    const { log, cwd } = await stoppedIn(3);
    const other = await testAgent({ provider: demoProvider({ cwd, pauseMs: 0 }), cwd, log });
    const { text } = await say(other, 'What else?');
    expect(text).toMatch(/^You stopped me\. My text so far is stored/);
    expect(text).not.toContain(essaySections[2]);
    expect(text).toContain(essaySections.slice(3).join('\n\n'));
  });
});

describe('the demo', () => {
  test.each(['What are you?', 'which model is this', 'Are you a real AI?', 'What is this?'])(
    'answers %j honestly and briefly, with what to do for more',
    async (words) => {
      const { text, items } = await say(await demoIn(), words);
      expect(items).toHaveLength(1);
      expect(text).toContain('a script, not a language model');
      for (const name of ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'Ollama'])
        expect(text).toContain(name);
      expect(text.split('\n').length).toBeLessThan(20);
    },
  );

  test('does not take a question about the project for one about itself', async () => {
    const { items } = await say(await demoIn(), 'What is this project about?');
    expect(callsOf(items)[0]).toEqual(['ls']);
  });

  test('has another agent look around, in a session of its own', async () => {
    const demo = await demoIn();
    const { items, text, stop } = await say(demo, 'Use a sub-agent');
    expect(stop.reason).toBe('stop');
    expect(callsOf(items)).toEqual([['task'], []]);
    expect(text).toContain('> | `README.md` | 3 | Tide tables |');
    // The tour of the sub-agent does not count as the tour of the main agent.
    expect(callsOf((await say(demo, 'And you?')).items)[0]).toEqual(['ls']);
  });

  test('gives a value that fits, where a form is asked for', async () => {
    const output = z.object({
      name: z.string().min(6),
      kind: z.enum(['a', 'b']),
      count: z.number().int().min(3),
      below: z.number().max(-1),
      list: z.array(z.object({ yes: z.boolean() })).min(2),
      either: z.union([z.string(), z.null()]),
      maybe: z.string().optional(),
    });
    const provider = demoProvider({ pauseMs: 0 });
    const { value, stop } = await createAgent({ provider, output }).run('Hello').result;
    expect(stop.reason).toBe('stop');
    expect(output.safeParse(value).success).toBe(true);
  });

  test('remembers in a summary that there was a tour', async () => {
    const demo = await demoIn();
    await say(demo, 'Good morning');
    for (let round = 0; round < 4; round++) await say(demo, 'What are you?');
    await demo.log.submit(session, { type: 'compact' }, 'k');
    await demo.agent.resume(session).result;
    expect(textOf((await said(demo)).slice(-1))).toContain('Requests: 4. That was the tour.');
    const { items } = await say(demo, 'Hm.');
    expect(callsOf(items)).toEqual([[]]);
  });

  const words = fc.constantFrom('Hm.', 'tour', 'a story', 'what are you?', 'sub-agent', 'go on');
  const deeds = fc.constantFrom('allow', 'deny', 'abort', 'steer');

  test('ends within a few turns, for any messages and decisions', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(words, deeds), { maxLength: 4 }), async (acts) => {
        // The folder has no files to read or search, so that many runs take little time.
        const demo = await demoIn({ 'a.bin': '\0' });
        for (const [input, deed] of acts) {
          const { stop, items } = await say(demo, input, async (run, id) => {
            if (deed === 'abort') return run.abort();
            if (deed === 'steer') await run.steer('more');
            return deed === 'deny' ? run.deny(id) : run.approve(id);
          });
          expect(stop.reason).toMatch(/^(?:stop|aborted)$/);
          expect(callsOf(items).length).toBeLessThanOrEqual(6);
        }
      }),
      { numRuns: runs(25) },
    );
  });
});
