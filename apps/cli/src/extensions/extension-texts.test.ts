import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import type { CustomCommand } from '../contract/extensions.ts';
import { chosenModel, extendedAgent } from '../testing/test-agent.ts';
import { expandCommand } from './custom-commands.ts';
import { parseMarkdownFile } from './front-matter.ts';
import { matcherAccepts } from './hook-settings.ts';
import { conditionAccepts } from './hooks/hook-condition.ts';
import { skillsPrompt } from './skills.ts';
import { expandPrompt } from './slash-prompts.ts';
import { fromHookInput, toHookCall } from './tool-names.ts';

const conditionPlace = { cwd: '/repo', projectFolder: '/repo' };

const calls = (name: string, input: object) => ({
  content: { parts: [toolCallPart(toolCallId(`${name} 1`), name, input as never)] },
});

describe('front matter', () => {
  test.each([
    [
      '---\nname: a\ndescription: >\n  Long\n  text\n---\nBody',
      { name: 'a', description: 'Long text\n' },
    ],
    [
      '---\nname: a\ndescription: Use when: always\n---\nBody',
      { name: 'a', description: 'Use when: always' },
    ],
    ['---\r\nname: "a"\r\n---\r\nBody', { name: 'a' }],
    ['---\n---\nBody', {}],
    ['Body', {}],
    ['---\n&a [*a]\n---\nBody', {}],
  ])('is read leniently: %j', async (content, fields) => {
    expect(await parseMarkdownFile(content)).toEqual({ fields, text: 'Body' });
  });
});

describe('a command', () => {
  const command = (text: string): CustomCommand => {
    return { name: 'c', description: '', origin: 'user', path: '/c.md', text };
  };

  test.each([
    ['Fix $1 in $2', 'bug "a file"', 'Fix bug in a file'],
    ['Fix $ARGUMENTS', 'all of it', 'Fix all of it'],
    ['Fix $ARGUMENTS[1]', 'a b', 'Fix b'],
    ['Fix $1 and $2', 'one', 'Fix one and '],
    ['Fix it', 'now', 'Fix it\n\nARGUMENTS: now'],
    ['Costs $10', '', 'Costs $10'],
    ['Say $1', '$2 $ARGUMENTS', 'Say $2'],
  ])('%j with %j becomes %j', async (text, argument, expanded) => {
    expect(await expandCommand(command(text), argument)).toBe(expanded);
  });

  test('does not run its shell blocks without a session, and tells the model', async () => {
    const text = await expandCommand(command('Status: !`touch /tmp/x`'), '');
    expect(text).toContain('!`touch /tmp/x`');
    expect(text).toContain('were not run');
  });
});

describe('names of tools', () => {
  const cwd = '/repo';

  test.each([
    ['bash', { command: 'ls', timeout_ms: 5 }, 'Bash', { command: 'ls', timeout: 5 }],
    ['read', { path: 'a.ts' }, 'Read', { file_path: '/repo/a.ts' }],
    [
      'task',
      { agent: 'explore', task: 'Look' },
      'Task',
      { subagent_type: 'explore', prompt: 'Look' },
    ],
    ['linear_get_issue', { id: 1 }, 'mcp__linear__get_issue', { id: 1 }],
    ['other', { id: 1 }, 'other', { id: 1 }],
  ])('%s is sent as Claude Code names it', (name, input, toolName, hookInput) => {
    const call = toHookCall(name, input, { cwd, servers: ['linear'] });
    expect(call).toMatchObject({ toolName, input: hookInput });
    expect(call.names).toContain(name);
  });

  test('several replacements are joined, so that a hook sees all new text', () => {
    const edits = [
      { old_text: 'a', new_text: 'b' },
      { old_text: 'c', new_text: 'key=1' },
    ];
    const { input, names } = toHookCall('edit', { path: 'x', edits }, { cwd });
    expect(input).toMatchObject({ new_string: 'b\nkey=1', edits: [{}, { new_string: 'key=1' }] });
    expect(names).toContain('MultiEdit');
  });

  test('a changed input keeps the fields that the hook left out', () => {
    const command = { command: 'a', network: false };
    expect(fromHookInput('bash', command, { command: 'b' }, { cwd })).toEqual({
      ...{ command: 'b', network: false },
    });
    expect(fromHookInput('write', { path: 'a', content: 'x' }, { content: 'y' }, { cwd })).toEqual({
      ...{ path: 'a', content: 'y' },
    });
  });

  test('attack: a hook cannot take a command out of the sandbox', () => {
    const updated = { command: 'b', outside_sandbox: true, network: true };
    expect(fromHookInput('bash', { command: 'a' }, updated, { cwd })).toEqual({ command: 'b' });
  });
});

test.each([
  ['Bash', ['Bash'], true],
  ['Bash', ['BashOutput'], false],
  ['Edit|Write', ['Write'], true],
  ['mcp__.*', ['mcp__a__b', 'a_b'], true],
  ['^(?!Bash$)', ['Bash'], false],
  [undefined, ['Bash'], true],
])('the matcher %s on %j gives %s', (matcher, names, accepts) => {
  expect(matcherAccepts(matcher, names)).toBe(accepts);
});

test.each([
  ['Bash(git push *)', { command: 'git push origin' }, true],
  ['Bash(git push:*)', { command: 'cd x && git push' }, true],
  ['Bash(git push *)', { command: 'git status' }, false],
  ['Edit(*.ts)', { file_path: '/a/b.ts' }, false],
  ['Bash', { command: 'x' }, true],
  [undefined, {}, true],
])('the condition %s on %j gives %s', (condition, input, accepts) => {
  expect(conditionAccepts(condition, { names: ['Bash', 'bash'], input }, conditionPlace)).toBe(
    accepts,
  );
});

describe('skills', () => {
  const files = {
    'project/.claude/skills/pdf/SKILL.md':
      '---\nname: pdf\ndescription: Reads PDF files\n---\nUse the script for $ARGUMENTS.',
    'project/.claude/skills/pdf/forms.md': 'How to fill forms.',
    'project/.claude/skills/quiet/SKILL.md':
      '---\nname: quiet\ndescription: Only for users\ndisable-model-invocation: true\n---\nQuiet.',
    'project/secret.txt': 'hidden',
  };

  test('are listed by name and description, and loaded on demand', async () => {
    const { built, provider } = await extendedAgent(files, [
      calls('skill', { name: 'pdf' }),
      {
        content: {
          parts: [toolCallPart(toolCallId('f'), 'skill', { name: 'pdf', file: 'forms.md' })],
        },
      },
      {
        content: {
          parts: [
            toolCallPart(toolCallId('g'), 'skill', { name: 'pdf', file: '../../../secret.txt' }),
          ],
        },
      },
      'Done.',
    ]);
    await built.agent.run('Go', { session: sessionId('s') }).result;
    const prompt = JSON.stringify(provider.requests[0]?.request);
    expect(prompt).toContain('- pdf: Reads PDF files');
    expect(prompt).not.toContain('Use the script');
    expect(prompt).not.toContain('Only for users');
    const last = JSON.stringify(provider.requests[3]?.request.items);
    expect(last).toContain('Use the script');
    expect(last).toContain('- forms.md');
    expect(last).toContain('How to fill forms.');
    expect(last).not.toContain('hidden');
  });

  test('can be started by the user with their name', async () => {
    const { extensions } = await extendedAgent(files, []);
    expect(await expandPrompt(extensions, '/pdf report.pdf')).toEqual([
      expect.stringContaining('Use the script for report.pdf.'),
    ]);
    expect(await expandPrompt(extensions, '/quiet')).toHaveLength(1);
    expect(await expandPrompt(extensions, '/unknown')).toEqual([]);
  });

  test('cannot make the system prompt long', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      ...({
        name: `s${index}`,
        description: 'x'.repeat(1000),
        origin: 'user',
        ...{ path: '/s', realPath: '/s', root: '/' },
      } as const),
      ...{ isForModel: true, isForUser: true },
    }));
    const prompt = skillsPrompt(many);
    expect(prompt.length).toBeLessThan(12_500);
    expect(prompt).toMatch(/\(4\d\d more skills are not listed\.\)$/);
    expect(skillsPrompt([])).toBe('');
  });
});

describe('a sub-agent from a file', () => {
  const agent = (more = '') =>
    `---\nname: reviewer\ndescription: Reviews code\n${more}---\nYou review in French.`;

  test('gets its instructions and only its tools', async () => {
    const { built, provider } = await extendedAgent(
      {
        'project/.claude/agents/reviewer.md': agent('tools: Read, Grep, Bash(git diff:*), Task\n'),
      },
      [calls('task', { agent: 'reviewer', task: 'Review' }), 'Bien.', 'Done.'],
    );
    await built.agent.run('Go', { session: sessionId('s') }).result;
    const { request } = provider.requests[1] ?? {};
    expect(JSON.stringify(request)).toContain('You review in French.');
    expect(request?.tools?.map((tool) => ('name' in tool ? tool.name : tool))).toEqual([
      ...['read', 'grep', 'bash'],
    ]);
    expect(JSON.stringify(provider.requests[0]?.request.tools)).toContain(
      '- reviewer: Reviews code',
    );
  });

  test('uses its own model if there is one, and otherwise the main model', async () => {
    const own = scriptedProvider(['Own.'], {});
    const files = { 'project/.claude/agents/reviewer.md': agent('model: other/model\n') };
    const opened: string[] = [];
    const { built } = await extendedAgent(
      files,
      [calls('task', { agent: 'reviewer', task: 'Review' }), 'Done.'],
      {
        openModel: async (model) => {
          opened.push(model);
          return chosenModel(own);
        },
      },
    );
    await built.agent.run('Go', { session: sessionId('s') }).result;
    expect(opened).toEqual(['other/model']);
    expect(own.requests).toHaveLength(1);
    const without = await extendedAgent(files, [], {
      openModel: () => Promise.reject(new Error('unknown')),
    });
    expect(without.built.problems).toEqual([expect.stringContaining('other/model cannot be used')]);
  });
});

test('instruction files of the user and of a trusted project reach the model once each', async () => {
  const { built, provider } = await extendedAgent(
    {
      'home/.config/millrace/AGENTS.md': 'Be brief.',
      'project/AGENTS.md': 'Use tabs.',
      'project/CLAUDE.md': 'Use tabs.',
      'project/GEMINI.md': 'Write tests.',
    },
    ['Hello.'],
  );
  await built.agent.run('Go', { session: sessionId('s') }).result;
  const prompt = JSON.stringify(provider.requests[0]?.request);
  expect(prompt.split('Use tabs.')).toHaveLength(2);
  expect(prompt).toContain('Instructions of the user, from');
  expect(prompt.indexOf('Be brief.')).toBeLessThan(prompt.indexOf('Use tabs.'));
  expect(prompt).toContain('Write tests.');
});
