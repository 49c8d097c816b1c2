import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Item,
  type JsonObject,
  type Part,
  type SessionId,
  sessionId,
  type ToolCallId,
  type ToolCallPart,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/agent/src/testing/virtual-time.ts';
import { stdioServer } from '../../../../packages/tools/src/testing/mcp-connections.ts';
import { loadConfig } from '../config/load-config.ts';
import { demoProvider } from '../demo/demo-provider.ts';
import { approvePending } from '../print/pending-approvals.ts';
import { chosenModel, folderWith, type TestAgent, testAgent } from '../testing/test-agent.ts';

const session = sessionId('s');
let made = 0;
const calls = (...given: readonly (readonly [name: string, input: JsonObject])[]) => ({
  content: {
    parts: given.map(([name, input]) => toolCallPart(toolCallId(`${name} ${++made}`), name, input)),
  },
});
const write = (path: string): ScriptEntry => calls(['write', { path, content: 'x' }]);

const resultsOf = (items: readonly Item[]) =>
  items
    .flatMap(({ parts }): readonly Part[] => parts)
    .flatMap((part) => (part.kind === 'tool_result' ? [part.text] : []));

/** Runs the agent and allows all calls that need approval. */
async function run({ agent }: Pick<TestAgent, 'agent'>, of: SessionId = session) {
  const going = agent.run('Go', { session: of });
  const asked: string[] = [];
  for await (const event of going.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.name);
    await going.approve(event.toolCallId);
  }
  const result = await going.result;
  return { ...result, asked, results: resultsOf(result.items) };
}

/** Returns the id of the first call in a session that needs approval. */
async function firstAsk({ log }: TestAgent, of: SessionId): Promise<ToolCallId> {
  for await (const { records } of log.follow(of))
    for (const { fact } of records) if (fact?.type === 'approval_asked') return fact.toolCallId;
  throw new Error('Nobody is asked about anything');
}

const namesOf = ({ tools }: TestAgent) => tools.map(({ name }) => name);
const reading = ['read', 'ls', 'grep', 'glob', 'read_output'];
const changing = ['edit', 'write', 'bash', 'web_fetch'];

describe('the tools are those of the folder', () => {
  test('with questions where somebody is there, and without them in scripts', async () => {
    const provider = scriptedProvider([]);
    expect(namesOf(await testAgent({ provider }))).toEqual([
      ...reading,
      ...changing,
      'task',
      'todo',
      'ask_user',
    ]);
    const script = await testAgent({ provider, approve: 'park' });
    expect(namesOf(script)).toEqual([...reading, ...changing, 'task', 'todo']);
  });

  test('that change nothing, where it is to be read alone', async () => {
    const config = { permissions: { mode: 'read-only', rules: [] } } as const;
    const mcpServers = [stdioServer()];
    const built = await testAgent({
      provider: scriptedProvider([]),
      config: { ...config, mcpServers },
    });
    expect(namesOf(built)).toEqual([...reading, 'task', 'todo', 'ask_user']);
    const task = built.tools.find(({ name }) => name === 'task');
    expect(task?.description).not.toContain('worker');
  });

  test('and does not wait for MCP servers any longer when it is to stop', async () => {
    const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] };
    const stop = new AbortController();
    const built = testAgent({
      provider: scriptedProvider([]),
      config: { mcpServers: [{ name: 'silent', stdio: silent }] },
      signal: stop.signal,
    });
    setImmediate(() => stop.abort());
    expect((await built).problems).toEqual([]);
  });

  test('and of MCP servers; one that fails is reported and left out', async () => {
    const broken = { name: 'broken', stdio: { command: join(folderWith(), 'no-such-program') } };
    const provider = scriptedProvider([calls(['test_echo', { text: 'hi' }]), 'Done.']);
    const built = await testAgent({ provider, config: { mcpServers: [broken, stdioServer()] } });
    expect(built.servers.connecting()).toEqual(['broken', 'test']);
    await built.servers.ready;
    const problems = built.servers.problems();
    expect([...built.problems, ...problems]).toHaveLength(1);
    expect(problems[0]).not.toContain('\n');
    expect(problems[0]).toMatch(/broken.*[^.]\. The server is skipped\.$/s);
    const { results, asked } = await run(built);
    expect([results, asked]).toEqual([['hi'], ['test_echo']]);
  });
});

describe('23.5: MCP servers', () => {
  const silent = {
    name: 'silent',
    stdio: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] },
  };

  test('23.5: do not delay the chat, and their tools are there when they are connected', async () => {
    const provider = scriptedProvider([calls(['test_echo', { text: 'hi' }]), 'Done.']);
    const mcpServers = [silent, stdioServer()];
    const built = await testAgent({ provider, config: { mcpServers } });
    expect(namesOf(built)).not.toContain('test_echo');
    const { promise: isConnected, resolve } = Promise.withResolvers<void>();
    built.servers.onChange(() => resolve());
    await isConnected;
    expect(built.servers.connecting()).toEqual(['silent']);
    expect(namesOf(built)).toContain('test_echo');
    expect((await run(built)).results).toEqual(['hi']);
  });

  test('23.5: delay a script until they are connected, and fail after their own time limit', async () => {
    const provider = scriptedProvider([]);
    const mcpServers = [{ ...silent, connectTimeoutMs: 200 }, stdioServer()];
    const built = await testAgent({ provider, approve: 'park', config: { mcpServers } });
    expect(namesOf(built)).toContain('test_echo');
    expect(built.problems).toHaveLength(1);
    expect(built.problems[0]).toContain('within 200 ms (connectTimeoutMs)');
    expect(built.servers.problems()).toEqual([]);
  });
});

describe('what may be done', () => {
  test('is by the rules of the configuration', async () => {
    const cwd = folderWith({ 'a.txt': 'a', '.env': 'hush' });
    const rules = [
      { tool: 'write', path: 'out/**', decision: 'allow' },
      { path: '.env', decision: 'deny' },
    ] as const;
    const provider = scriptedProvider([
      calls(
        ['write', { path: 'out/a', content: 'x' }],
        ['read', { path: '.env' }],
        ['read', { path: 'a.txt' }],
        ['grep', { pattern: 'hush' }],
      ),
      'Done.',
    ]);
    const built = await testAgent({
      provider,
      cwd,
      config: { permissions: { mode: 'ask', rules } },
    });
    const { asked, results } = await run(built);
    expect(asked).toEqual([]);
    expect(results).toEqual([
      'Created out/a: 1 line',
      expect.stringContaining('.env is denied'),
      '1\ta',
      'Nothing matches.',
    ]);
  });

  test('is not asked about again once it is remembered, for the session or for ever', async () => {
    const [cwd, home] = [folderWith(), folderWith()];
    const env = { XDG_CONFIG_HOME: home };
    const config = await loadConfig({ args: {}, env, cwd });
    const script = ['a', 'b', 'c'].map(write);
    const built = await testAgent({
      provider: scriptedProvider([...script, 'Done.']),
      cwd,
      config,
    });
    await built.remember({ tool: 'write', path: 'a', exact: true, decision: 'allow' }, 'session');
    const always = ['b', 'bb'].map((path) =>
      built.remember({ tool: 'write', path, exact: true, decision: 'allow' }, 'always'),
    );
    await Promise.all(always);
    expect((await run(built)).asked).toEqual(['write']);
    expect(built.policy().remembered).toHaveLength(3);
    const later = await loadConfig({ args: {}, env, cwd });
    expect(later.permissions.rules).toHaveLength(2);
    expect(statSync(later.foldersFile ?? '').mode & 0o777).toBe(0o600);
    const next = await testAgent({
      provider: scriptedProvider([...script, 'Done.']),
      cwd,
      config: later,
    });
    expect((await run(next)).asked).toHaveLength(2);
    const elsewhere = await loadConfig({ args: {}, env, cwd: folderWith() });
    expect(elsewhere.permissions.rules).toEqual([]);
  });

  test('is not asked about where a command only looks at what is there', async () => {
    const cwd = folderWith({ 'a.txt': 'one\ntwo' });
    const commands = ['ls', 'cat a.txt | head -1', 'cat /etc/hostname', 'touch b'];
    const script = commands.map((command) => calls(['bash', { command }]));
    const built = await testAgent({ provider: scriptedProvider([...script, 'Done.']), cwd });
    expect((await run(built)).asked).toHaveLength(2);
  });

  test('is about all changes of files in the folder where that is allowed for the session', async () => {
    const built = await testAgent({
      provider: scriptedProvider([write('a'), write('b'), calls(['bash', { command: 'touch c' }])]),
    });
    const going = built.agent.run('Go', { session });
    let asked = 0;
    for await (const event of going.events) {
      if (event.type !== 'approval_asked') continue;
      if (++asked === 2) break;
      await going.approve(event.toolCallId, { until: 'session' });
    }
    expect(existsSync(join(built.cwd, 'b'))).toBe(true);
    await going.abort();
    await going.result;
  });

  test('outside the folder is done where it was allowed, for that call', async () => {
    const elsewhere = folderWith({ 'x.txt': 'there', 'y.txt': 'too' });
    symlinkSync(join(folderWith({ z: 'behind the link' }), 'z'), join(elsewhere, 'link'));
    const script = [
      ['read', { path: join(elsewhere, 'x.txt') }],
      ['ls', { path: elsewhere }],
      ['grep', { pattern: 'too', path: elsewhere, mode: 'files' }],
      ['write', { path: join(elsewhere, 'new.txt'), content: 'made' }],
      ['read', { path: join(elsewhere, 'link') }],
    ] as const;
    const provider = scriptedProvider([...script.map((one) => calls(one)), 'Done.']);
    const { asked, results } = await run(await testAgent({ provider }));
    expect(asked).toEqual(['read', 'ls', 'grep', 'write', 'read']);
    expect(results[0]).toContain('there');
    expect(results[1]).toContain('y.txt');
    expect(results[2]).toContain('y.txt');
    expect(readFileSync(join(elsewhere, 'new.txt'), 'utf8')).toBe('made');
    // The approval request shows the real path, so the approval covers it.
    expect(results[4]).toContain('behind the link');
  });

  test('is forgotten where that is wanted, for later sessions too', async () => {
    const [cwd, home] = [folderWith(), folderWith()];
    const env = { XDG_CONFIG_HOME: home };
    const config = await loadConfig({ args: {}, env, cwd });
    const built = await testAgent({ provider: scriptedProvider([]), cwd, config });
    const rule = { tool: 'write', path: 'b', exact: true, decision: 'allow' } as const;
    await built.remember(rule, 'always');
    expect(await built.rememberedRules()).toEqual([rule]);
    await built.forget(rule);
    expect([await built.rememberedRules(), built.policy().remembered]).toEqual([[], []]);
    expect((await loadConfig({ args: {}, env, cwd })).permissions.rules).toEqual([]);
    const later = { ...config, permissions: { mode: 'ask', rules: [rule] } } as const;
    const next = await testAgent({ provider: scriptedProvider([]), cwd, config: later });
    await next.forget(rule);
    expect(next.policy().rules).toEqual([]);
  });

  test('and what is denied meanwhile is not found any more', async () => {
    const cwd = folderWith({ 'a.txt': 'hush', 'b.txt': 'hush' });
    const look = calls(['grep', { pattern: 'hush', mode: 'files' }]);
    const built = await testAgent({ provider: scriptedProvider([look, '.', look, '.']), cwd });
    expect((await run(built)).results).toEqual(['a.txt\nb.txt']);
    await built.remember({ path: 'b.txt', decision: 'deny' }, 'session');
    expect((await run(built)).results).toEqual(['a.txt']);
  });

  test('20.4: waits for nobody in a script: the run is parked, also if a sub-agent asks', async () => {
    const task = calls(['task', { agent: 'worker', task: 'Write a' }]);
    const provider = scriptedProvider([task, write('a'), 'I wrote a.', write('b'), 'Done.']);
    const built = await testAgent({ provider, approve: 'park' });
    const first = await built.agent.run('Go', { session }).result;
    expect(first.stop.reason).toBe('parked');
    expect(existsSync(join(built.cwd, 'a'))).toBe(false);
    const allows = async ({ input }: ToolCallPart) => JSON.stringify(input).includes('"a"');
    await approvePending(built.log, session, allows);
    const { stop } = await built.agent.resume(session).result;
    expect(stop.reason).toBe('parked');
    expect(JSON.stringify(provider.requests.at(-1)?.request.items)).toContain('I wrote a.');
    expect(existsSync(join(built.cwd, 'a'))).toBe(true);
    expect(existsSync(join(built.cwd, 'b'))).toBe(false);
  });

  test('by a sub-agent is asked about in its own session, and can be allowed there', async () => {
    const cwd = folderWith({ 'README.md': '# A\n' });
    const built = await testAgent({ provider: demoProvider({ cwd, pauseMs: 0 }), cwd });
    const going = built.agent.run('A worker sub-agent, please', { session });
    let child: SessionId | undefined;
    for await (const event of going.events) {
      if (event.type === 'tool_execution_started') child = event.child;
      // The sub-agent's session exists when its first output arrives.
      if (event.type === 'tool_execution_update' && child !== undefined) break;
    }
    if (child === undefined) throw new Error('It has no session');
    const ask = await firstAsk(built, child);
    await built.log.submit(child, { type: 'approve', toolCallId: ask }, 'k');
    expect((await going.result).stop.reason).toBe('stop');
    expect(existsSync(join(cwd, 'millrace-demo.md'))).toBe(true);
  });
});

describe('a question of the model', () => {
  const ask = calls(['ask_user', { question: 'Red or blue?' }]);

  test('is answered by the user who is present, and dismissed if there is none', async () => {
    const built = await testAgent({ provider: scriptedProvider([ask, '.', ask, '.', ask, '.']) });
    expect((await run(built)).results[0]).toContain('gave no answer');
    built.setQuestionHandler(async ({ question }) => `${question} Blue.`);
    expect((await run(built)).results).toEqual(['Red or blue? Blue.']);
    built.setQuestionHandler(undefined);
    expect((await run(built)).results[0]).toContain('gave no answer');
  });
});

describe('the instructions have', () => {
  test('who it is, where it is, and what the project and the person want', async () => {
    const cwd = folderWith({
      '.git/HEAD': 'ref: refs/heads/tides/high\n',
      'AGENTS.md': 'Tabs, never spaces.',
      'inner/AGENTS.md': 'Here spaces.',
    });
    const provider = scriptedProvider(['Yes.']);
    const clock = new VirtualClock(Date.UTC(2026, 10, 15));
    const inner = join(cwd, 'inner');
    const built = await testAgent({
      provider,
      cwd: inner,
      clock,
      config: { system: 'Speak French.' },
    });
    await built.agent.run('Hello').result;
    const [system] = provider.requests[0]?.request.items ?? [];
    const text = system?.parts[0]?.kind === 'text' ? system.parts[0].text : '';
    expect(system?.kind).toBe('system');
    expect(text).toMatch(/^You are Millrace/);
    for (const told of [`Folder: ${inner}`, `Platform: ${process.platform}`, '2026-11-15'])
      expect(text).toContain(told);
    expect(text).toContain('Git branch, when the session began: tides/high');
    expect(text.indexOf('Tabs, never')).toBeLessThan(text.indexOf('Here spaces.'));
    expect(text.endsWith('Speak French.')).toBe(true);
  });

  test('what it will see again: the instructions, and what was said to it last', async () => {
    const provider = scriptedProvider([calls(['ls', {}]), 'Yes.']);
    const built = await testAgent({ provider });
    await run(built);
    const [first, second] = provider.requests.map(({ request }) => request);
    const ids = (at: readonly number[]) => at.map((index) => second?.items[index]?.id);
    expect(first?.cache?.upTo[0]).toBe('instructions');
    expect(second?.items.map(({ kind }) => kind)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(second?.cache?.upTo).toEqual(ids([0, 1, 3]));
    expect(second?.cache?.longLived).toBeUndefined();
  });

  test.each([
    ['1h', { longLived: true }],
    ['off', undefined],
  ] as const)('cache hints as configured: %s', async (cache, expected) => {
    const provider = scriptedProvider(['Yes.']);
    await run(await testAgent({ provider, config: { cache } }));
    const [sent] = provider.requests;
    if (expected === undefined) expect(sent?.request).not.toHaveProperty('cache');
    else expect(sent?.request.cache).toMatchObject(expected);
  });

  test('what its configuration asks for', async () => {
    const provider = scriptedProvider(['Yes.']);
    const request = { reasoning: 'low', maxOutputTokens: 10 } as const;
    await run(await testAgent({ provider, chosen: chosenModel(provider, { request }) }));
    expect(provider.requests[0]?.request).toMatchObject(request);
  });
});

describe('the same agent with something else', () => {
  test('has another model, and shares rules, questions and tools', async () => {
    const [first, second] = [
      scriptedProvider([write('a'), 'One.']),
      scriptedProvider([write('b'), 'Two.']),
    ];
    const built = await testAgent({ provider: first });
    const other = built.with({ chosen: chosenModel(second) });
    await built.remember({ tool: 'write', decision: 'allow' }, 'session');
    expect(other.chosen.provider).toBe(second);
    expect(other.policy()).toBe(built.policy());
    expect((await run(built)).text).toBe('One.');
    expect(await run(other)).toMatchObject({ text: 'Two.', asked: [] });
    expect(second.requests[0]?.request.items.some(({ kind }) => kind === 'assistant')).toBe(true);
    expect(other.tools.slice(0, 8)).toEqual(built.tools.slice(0, 8));
  });

  test('answers in a form', async () => {
    const built = await testAgent({ provider: demoProvider({ pauseMs: 0 }) });
    const output = z.object({ city: z.string() });
    const { value } = await built.with({ output }).agent.run('Where?').result;
    expect(output.safeParse(value).success).toBe(true);
  });

  test('tells others what happens', async () => {
    const built = await testAgent({ provider: scriptedProvider(['Yes.']) });
    const told: string[] = [];
    const observers = [
      (_: unknown, events: readonly { readonly type: string }[]) =>
        void told.push(...events.map(({ type }) => type)),
    ];
    await built.with({ observers }).agent.run('Hello').result;
    expect(told).toContain('assistant_text_delta');
  });
});

describe('there is an end to', () => {
  test('turns, tokens and money, as it is configured', async () => {
    const costs = [{ amount: '0.6', currency: 'USD' }];
    const step = { ...calls(['ls', {}]), usage: { input: 60, costs } };
    const limits = [
      [{ maxTurns: 2 }, '2 turns'],
      [{ maxTokens: 100 }, '100 tokens'],
      [{ maxCost: { amount: '1', currency: 'USD' } }, '1 USD'],
    ] as const;
    for (const [given, cause] of limits) {
      const provider = scriptedProvider(Array.from({ length: 5 }, () => step));
      const { stop } = await run(await testAgent({ provider, config: { limits: given } }));
      expect([stop, provider.requests.length]).toEqual([{ reason: 'limit', cause }, 2]);
    }
  });

  test.each([
    ['four fifths of what the model can take', { contextTokens: 1000 }, {}, 800],
    ['what is configured', { contextTokens: 1000 }, { compactAtTokens: 500 }, 500],
    ['250,000 at most', { contextTokens: 1_000_000 }, {}, 250_000],
    ['150,000 where nothing is known', {}, {}, 150_000],
  ])('what is sent at once: it is summarised at %s', async (_what, chosen, config, tokens) => {
    const asked = async (input: number) => {
      const steps = Array.from({ length: 7 }, () => ({
        ...calls(['ls', { path: `${made}/..` }]),
        usage: { input, output: 0 },
      }));
      const provider = scriptedProvider([...steps, 'Done.']);
      const built = await testAgent({ provider, chosen: chosenModel(provider, chosen), config });
      await run(built);
      return provider.requests.some(({ request }) =>
        JSON.stringify(request).includes('Summarise the'),
      );
    };
    // The result of the last call also counts. It has fewer than 200 tokens.
    expect([await asked(tokens - 200), await asked(tokens)]).toEqual([false, true]);
  });
});

test('a session says who drives it', async () => {
  const built = await testAgent({ provider: scriptedProvider([]) });
  expect(built.agent.name).toBe(`millrace (process ${process.pid})`);
});

test('a folder that is not there is refused', async () => {
  const cwd = join(folderWith(), 'nowhere');
  await expect(testAgent({ provider: scriptedProvider([]), cwd })).rejects.toThrow(
    'it is not a folder',
  );
});

test('the mode auto needs a sandbox', async () => {
  const config = { permissions: { mode: 'auto', rules: [] } } as const;
  await expect(testAgent({ provider: scriptedProvider([]), config })).rejects.toThrow(
    /^Cannot use the mode auto: it needs a sandbox for commands\..*Use --mode accept-edits/,
  );
  const built = await testAgent({ provider: scriptedProvider([]) });
  expect(built.modes).toEqual(['ask', 'accept-edits', 'plan']);
});

test('a new mode applies to the next call, and plan mode refuses changes', async () => {
  const provider = scriptedProvider([write('a'), 'Hm.', write('a'), 'Done.']);
  const config = { permissions: { mode: 'plan', rules: [] } } as const;
  const built = await testAgent({ provider, config });
  const refused = await run(built);
  expect(refused.asked).toEqual([]);
  expect(refused.results[0]).toContain('The session is in plan mode');
  built.setMode('accept-edits');
  const { asked } = await run(built);
  expect(asked).toEqual([]);
  expect(readFileSync(join(built.cwd, 'a'), 'utf8')).toBe('x');
});
