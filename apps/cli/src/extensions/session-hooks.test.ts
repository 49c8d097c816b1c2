import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Item,
  type JsonObject,
  type Part,
  sessionId,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type { ScriptEntry } from '@millrace/providers/scripted';
import type { PermissionRule } from '@millrace/tools';
import { describe, expect, test } from 'vitest';
import { extendedAgent, hookSettings } from '../testing/test-agent.ts';

const session = sessionId('s');
let made = 0;
const calls = (name: string, input: JsonObject): ScriptEntry => ({
  content: { parts: [toolCallPart(toolCallId(`${name} ${++made}`), name, input)] },
});

const resultsOf = (items: readonly Item[]) =>
  items
    .flatMap(({ parts }): readonly Part[] => parts)
    .flatMap((part) => (part.kind === 'tool_result' ? [part.text] : []));

type Extended = Awaited<ReturnType<typeof extendedAgent>>;

/** Runs the agent. It allows each call that needs approval, and returns the questions. */
async function run({ built }: Pick<Extended, 'built'>, prompt = 'Go') {
  const going = built.agent.run(prompt, { session });
  const asked: string[] = [];
  for await (const event of going.events) {
    if (event.type !== 'approval_asked') continue;
    asked.push(event.reason ?? event.name);
    await going.approve(event.toolCallId);
  }
  const result = await going.result;
  return { ...result, asked, results: resultsOf(result.items) };
}

const requestText = ({ provider }: Extended, index: number) =>
  JSON.stringify(provider.requests[index]?.request.items);

/** A hook that writes its input to a file. */
const recording = {
  'project/.claude/hooks/record.sh': '#!/bin/sh\ncat >> "$CLAUDE_PROJECT_DIR/seen.jsonl"\n',
};
const record = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/record.sh';
const seen = ({ cwd }: Extended) =>
  (existsSync(join(cwd, 'seen.jsonl')) ? readFileSync(join(cwd, 'seen.jsonl'), 'utf8') : '')
    .replaceAll('}{', '}\n{')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

const printing = (json: object, exit = 0) =>
  `#!/bin/sh\ncat > /dev/null\necho '${JSON.stringify(json)}'\nexit ${exit}\n`;
const script = (place: string, event: string, text: string, more: object = {}) => ({
  [`${place}/hooks/hook.sh`]: text,
  [`${place}/settings.json`]: hookSettings(
    event,
    place.startsWith('home')
      ? '"$HOME"/.claude/hooks/hook.sh'
      : '"$CLAUDE_PROJECT_DIR"/.claude/hooks/hook.sh',
    more,
  ),
});

describe('PreToolUse', () => {
  test('adds the context of a hook to the result of the call, once', async () => {
    const hook = printing({
      hookSpecificOutput: { hookEventName: 'PreToolUse', additionalContext: 'Mind the gap.' },
    });
    const extended = await extendedAgent(
      {
        ...script('project/.claude', 'PreToolUse', hook, { matcher: 'Read' }),
        ...{ 'project/a.txt': 'one', 'project/b.txt': 'two' },
      },
      [calls('read', { path: 'a.txt' }), calls('ls', { path: '.' }), 'Done.'],
    );
    const { results } = await run(extended);
    expect(results).toEqual([
      expect.stringMatching(/one[\s\S]*Mind the gap\./),
      expect.not.stringContaining('Mind the gap.'),
    ]);
  });

  test('sends a hook the names and the fields that Claude Code uses', async () => {
    const files = {
      ...recording,
      'project/.claude/settings.json': hookSettings('PreToolUse', record, {
        matcher: 'Write|Edit',
      }),
      'project/a.txt': 'one',
    };
    const extended = await extendedAgent(files, [
      calls('read', { path: 'a.txt' }),
      calls('edit', { path: 'a.txt', edits: [{ old_text: 'one', new_text: 'two' }] }),
      'Done.',
    ]);
    await run(extended);
    const { cwd } = extended;
    expect(seen(extended)).toEqual([
      {
        ...{ session_id: 's', cwd, permission_mode: 'default' },
        transcript_path: expect.stringMatching(/s\.jsonl$/),
        ...{ hook_event_name: 'PreToolUse', tool_name: 'Edit', tool_use_id: expect.any(String) },
        tool_input: {
          ...{ file_path: join(cwd, 'a.txt'), old_string: 'one', new_string: 'two' },
          replace_all: false,
        },
      },
    ]);
  });

  test('with exit code 2, a call does not run and the model gets the reason', async () => {
    const text = '#!/bin/sh\ngrep -q "rm -rf" && { echo "No deletion" >&2; exit 2; }\nexit 0\n';
    const extended = await extendedAgent(
      script('project/.claude', 'PreToolUse', text, { matcher: 'Bash' }),
      [calls('bash', { command: 'rm -rf build' }), 'I did not.'],
    );
    const { results, asked } = await run(extended);
    expect(results).toEqual([expect.stringContaining('No deletion')]);
    expect(asked).toEqual([]);
  });

  test.each([['deny'], ['block']])(
    'with the decision %s, a call does not run',
    async (decision) => {
      const json =
        decision === 'block'
          ? { decision, reason: 'Not here' }
          : {
              hookSpecificOutput: {
                permissionDecision: decision,
                permissionDecisionReason: 'Not here',
              },
            };
      const extended = await extendedAgent(script('home/.claude', 'PreToolUse', printing(json)), [
        calls('write', { path: 'b.txt', content: 'x' }),
        'Well.',
      ]);
      expect((await run(extended)).results).toEqual([expect.stringContaining('Not here')]);
      expect(existsSync(join(extended.cwd, 'b.txt'))).toBe(false);
    },
  );

  test('with the decision ask, a call that needs no approval is put before the user', async () => {
    const json = {
      hookSpecificOutput: { permissionDecision: 'ask', permissionDecisionReason: 'Sure?' },
    };
    const extended = await extendedAgent(
      { ...script('project/.claude', 'PreToolUse', printing(json)), 'project/a.txt': 'one' },
      [calls('read', { path: 'a.txt' }), 'Read.'],
    );
    expect((await run(extended)).asked).toEqual(['Sure?']);
  });

  test('a hook of the user can allow a call, and a hook of the project cannot', async () => {
    const json = { hookSpecificOutput: { permissionDecision: 'allow' } };
    const steps = () => [calls('write', { path: 'b.txt', content: 'x' }), 'Written.'];
    const ofUser = await extendedAgent(
      script('home/.claude', 'PreToolUse', printing(json)),
      steps(),
    );
    const ofProject = await extendedAgent(
      script('project/.claude', 'PreToolUse', printing(json)),
      steps(),
    );
    expect((await run(ofUser)).asked).toEqual([]);
    expect((await run(ofProject)).asked).toHaveLength(1);
    expect(ofProject.notices).toEqual([expect.stringContaining('your permissions decide')]);
  });

  test.each([
    ['a protected file', { path: '.millrace/hooks.json', content: '{}' }, {}],
    [
      'a file that a rule asks about',
      { path: 'b.txt', content: 'x' },
      { tool: 'write', decision: 'ask' },
    ],
  ])('attack: a hook of the user cannot allow a change of %s', async (_what, input, rule) => {
    const json = { hookSpecificOutput: { permissionDecision: 'allow' } };
    const rules = 'tool' in rule ? [rule as PermissionRule] : [];
    const files = script('home/.claude', 'PreToolUse', printing(json));
    const extended = await extendedAgent(files, [calls('write', input), 'Written.'], {
      config: { permissions: { mode: 'ask', rules } },
    });
    expect((await run(extended)).asked).toHaveLength(1);
  });

  test('a hook can change the input, and the permissions apply to the new input', async () => {
    const json = {
      hookSpecificOutput: { updatedInput: { file_path: 'changed.txt', content: 'y' } },
    };
    const extended = await extendedAgent(script('home/.claude', 'PreToolUse', printing(json)), [
      calls('write', { path: 'b.txt', content: 'x' }),
      'Written.',
    ]);
    expect((await run(extended)).asked).toHaveLength(1);
    expect(readFileSync(join(extended.cwd, 'changed.txt'), 'utf8')).toBe('y');
  });

  test.each([
    [
      'ends with another exit code',
      '#!/bin/sh\necho "Broken" >&2\nexit 1\n',
      {},
      'exit code 1 (Broken)',
    ],
    ['does not exist', '', { command: '/nowhere/hook' }, 'exit code 127'],
    ['prints something else', '#!/bin/sh\necho "not json"\n', {}, undefined],
  ])('a hook that %s does not stop a call', async (_what, text, more, notice) => {
    const files = { ...script('home/.claude', 'PreToolUse', text, more), 'project/a.txt': 'one' };
    const extended = await extendedAgent(files, [calls('read', { path: 'a.txt' }), 'Read.']);
    const { results, stop } = await run(extended);
    expect(results).toEqual([expect.stringContaining('one')]);
    expect(stop.reason).toBe('stop');
    expect(extended.notices).toEqual(notice === undefined ? [] : [expect.stringContaining(notice)]);
  });

  test('hooks see the calls of sub-agents', async () => {
    const text = '#!/bin/sh\necho "Closed" >&2; exit 2\n';
    const extended = await extendedAgent(
      {
        ...script('project/.claude', 'PreToolUse', text, { matcher: 'Read' }),
        'project/a.txt': 'one',
      },
      [
        calls('task', { agent: 'explore', task: 'Read a.txt' }),
        calls('read', { path: 'a.txt' }),
        'I could not read it.',
        'Done.',
      ],
    );
    await run(extended);
    expect(requestText(extended, 2)).toContain('Closed');
  });
});

test('PostToolUse adds its text to the result of a tool', async () => {
  const text = '#!/bin/sh\ngrep -q \'"tool_response"\' && { echo "Two errors" >&2; exit 2; }\n';
  const extended = await extendedAgent(
    {
      ...script('project/.claude', 'PostToolUse', text, { matcher: 'Read' }),
      'project/a.txt': 'one',
    },
    [calls('read', { path: 'a.txt' }), 'I see.'],
  );
  const { results } = await run(extended);
  expect(results).toEqual([expect.stringMatching(/one[\s\S]*<hook>\nTwo errors\n<\/hook>$/)]);
});

describe('UserPromptSubmit', () => {
  test('adds what a hook prints to the message for the model', async () => {
    const extended = await extendedAgent(
      script('project/.claude', 'UserPromptSubmit', '#!/bin/sh\necho "Today is Monday"\n'),
      ['Hello.'],
    );
    await run(extended, 'Which day is it?');
    expect(requestText(extended, 0)).toContain('Today is Monday');
    expect(requestText(extended, 0)).toContain('Which day is it?');
  });

  test('with exit code 2, the message does not reach the model', async () => {
    const extended = await extendedAgent(
      script(
        'project/.claude',
        'UserPromptSubmit',
        '#!/bin/sh\necho "Has a password" >&2\nexit 2\n',
      ),
      ['Hello.'],
    );
    const { stop } = await run(extended, 'hunter2');
    expect(stop).toMatchObject({ reason: 'blocked' });
    expect(extended.provider.requests).toEqual([]);
  });
});

test('SessionStart runs once for a session, before its first message', async () => {
  const extended = await extendedAgent(
    {
      ...recording,
      'project/.claude/settings.json': hookSettings(
        'SessionStart',
        `${record}; echo "Branch: main"`,
        {
          matcher: 'startup|resume',
        },
      ),
    },
    ['One.', 'Two.'],
  );
  await run(extended);
  await run(extended, 'More');
  expect(seen(extended)).toEqual([expect.objectContaining({ source: 'startup' })]);
  expect(requestText(extended, 0)).toContain('Branch: main');
});

describe('Stop', () => {
  const once = `#!/bin/sh
grep -q '"stop_hook_active":true' && exit 0
echo '{"decision": "block", "reason": "Run the tests first"}'
`;

  test('can make the agent continue, and tells the hook that it did', async () => {
    const extended = await extendedAgent(script('project/.claude', 'Stop', once), [
      'Done.',
      'Tested.',
    ]);
    const { text, stop } = await run(extended);
    expect(text).toBe('Tested.');
    expect(stop.reason).toBe('stop');
    expect(requestText(extended, 1)).toContain('Run the tests first');
  });

  test('cannot make the agent continue forever', async () => {
    const json = { decision: 'block', reason: 'More' };
    const extended = await extendedAgent(
      script('project/.claude', 'Stop', printing(json)),
      Array.from({ length: 20 }, (_, index) => `Answer ${index}.`),
    );
    expect((await run(extended)).stop.reason).toBe('stop');
    expect(extended.provider.requests).toHaveLength(9);
  });

  test('can read the transcript in the form of Claude Code', async () => {
    const extended = await extendedAgent(
      {
        'project/.claude/settings.json': hookSettings(
          'Stop',
          'cp "$(sed \'s/.*"transcript_path":"\\([^"]*\\)".*/\\1/\')" "$CLAUDE_PROJECT_DIR/copy.jsonl"',
        ),
      },
      ['Hello.'],
    );
    await run(extended, 'Hi');
    const lines = readFileSync(join(extended.cwd, 'copy.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } },
      { type: 'assistant', message: { content: [{ type: 'text', text: 'Hello.' }] } },
    ]);
  });
});

test('SubagentStop runs when a sub-agent ends', async () => {
  const extended = await extendedAgent(
    { ...recording, 'project/.claude/settings.json': hookSettings('SubagentStop', record) },
    [calls('task', { agent: 'explore', task: 'Look' }), 'Seen.', 'Done.'],
  );
  await run(extended);
  expect(seen(extended)).toEqual([
    expect.objectContaining({ agent_type: 'explore', last_assistant_message: 'Seen.' }),
  ]);
});

test('SubagentStop can make a sub-agent continue', async () => {
  const text = `#!/bin/sh
grep -q '"stop_hook_active":true' && exit 0
echo "Look again" >&2
exit 2
`;
  const extended = await extendedAgent(script('project/.claude', 'SubagentStop', text), [
    calls('task', { agent: 'explore', task: 'Look' }),
    'Seen.',
    'Seen twice.',
    'Done.',
  ]);
  expect((await run(extended)).results).toEqual(['Seen twice.']);
  expect(requestText(extended, 2)).toContain('Look again');
});

test('Notification runs when a call waits for approval, and SessionEnd when the agent closes', async () => {
  const settings = {
    hooks: {
      Notification: [
        { matcher: 'permission_prompt', hooks: [{ type: 'command', command: record }] },
      ],
      SessionEnd: [{ hooks: [{ type: 'command', command: record }] }],
    },
  };
  const extended = await extendedAgent(
    { ...recording, 'project/.claude/settings.json': JSON.stringify(settings) },
    [calls('write', { path: 'b.txt', content: 'x' }), 'Written.'],
  );
  await run(extended);
  await expect.poll(() => seen(extended)).toHaveLength(1);
  await extended.built.close();
  expect(seen(extended)).toMatchObject([
    { hook_event_name: 'Notification', message: 'Millrace needs your permission to use Write' },
    { hook_event_name: 'SessionEnd', reason: 'other' },
  ]);
});

test('PreCompact runs before a compaction', async () => {
  const extended = await extendedAgent(
    { ...recording, 'project/.claude/settings.json': hookSettings('PreCompact', record) },
    [...Array.from({ length: 8 }, (_, index) => `Answer ${index}.`), 'A summary.', 'On.'],
  );
  for (let turn = 0; turn < 8; turn++) await run(extended, `Question ${turn}`);
  const going = extended.built.agent.run('Last', { session });
  await going.compact();
  await going.result;
  await expect.poll(() => seen(extended)).toHaveLength(1);
  expect(seen(extended)).toMatchObject([{ hook_event_name: 'PreCompact', trigger: 'manual' }]);
});

test('attack: a project hook whose script changes during a session does not run', async () => {
  const extended = await extendedAgent(
    { ...script('project/.claude', 'PreToolUse', '#!/bin/sh\nexit 0\n'), 'project/a.txt': 'one' },
    [calls('read', { path: 'a.txt' }), 'Read.'],
  );
  const evil = '#!/bin/sh\ntouch "$CLAUDE_PROJECT_DIR/evil"\n';
  writeFileSync(join(extended.cwd, '.claude/hooks/hook.sh'), evil);
  const { asked } = await run(extended);
  expect(existsSync(join(extended.cwd, 'evil'))).toBe(false);
  expect(asked).toEqual(['A hook that guards this call has changed']);
  expect(extended.notices).toEqual([
    expect.stringContaining('have changed since you trusted them'),
  ]);
});

test('attack: a hook gets no API keys from the environment', async () => {
  const files = {
    'home/.claude/settings.json': hookSettings('UserPromptSubmit', 'env > "$HOME/env.txt"'),
  };
  const keys = { ANTHROPIC_API_KEY: 'sk-ant-secret', GITHUB_TOKEN: 'ghp_secret' };
  const extended = await extendedAgent(files, ['Hello.'], {});
  const withKeys = await extendedAgent(files, ['Hello.'], { env: { ...extended.env, ...keys } });
  await run(withKeys);
  const text = readFileSync(join(extended.home, 'env.txt'), 'utf8');
  expect(text).toContain('CLAUDE_PROJECT_DIR=');
  expect(text).not.toContain('secret');
});
