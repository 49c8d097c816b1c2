import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { grepTool } from '../search/grep-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { secretProtection } from './home-protection.ts';
import { permissionPolicy } from './permission-policy.ts';

// The workspace is the whole disk, for example in a container that starts in `/`. It then contains
// everything, including the environment of the agent with its keys.

const policy = permissionPolicy({ root: '/', freeReading: true, searchesSkipDenied: true });

test.for([
  '/proc/self/environ',
  'proc/1/environ',
  '/proc/1/task/1/environ',
  '/proc/self/cwd/x',
  '/run/secrets/password',
  '/var/run/secrets/kubernetes.io/serviceaccount/token',
  '/dev/mem',
])('18.108: %s is asked about', (path) => {
  for (const tool of ['read', 'write', 'edit'])
    expect(policy.decide({ tool, input: { path } }).decision).toBe('ask');
  const command = `cat ${path} | tr a-z A-Z`;
  expect(policy.decide({ tool: 'bash', input: { command } }).decision).toBe('ask');
  // The search tools skip these files.
  expect(secretProtection(lexicalPath('/', path))).toMatchObject({ why: 'secret' });
});

test('18.108: a broad rule does not cover these files, and one that names them does', () => {
  const decide = (path: string) =>
    permissionPolicy({ root: '/', rules: [{ tool: 'read', path, decision: 'allow' }] }).decide({
      tool: 'read',
      input: { path: '/proc/self/environ' },
    }).decision;
  expect([decide('**'), decide('/**'), decide('/proc/**')]).toEqual(['ask', 'ask', 'allow']);
});

describe('the folders of the agent are in the workspace', () => {
  // Containers often store the settings of their user next to the project, because they must survive a
  // restart.
  let root: string;
  beforeEach(() => {
    root = temporaryFolder();
    vi.stubEnv('XDG_CONFIG_HOME', join(root, 'kept/settings'));
    vi.stubEnv('XDG_DATA_HOME', join(root, 'kept/data'));
  });
  afterEach(() => void vi.unstubAllEnvs());

  test.for([
    'kept/settings/millrace/folders.json',
    'kept/settings/millrace/config.json',
    'kept/data/millrace/sessions.db',
    'kept/data/millrace/server/access/token',
  ])('18.109: %s is neither read nor changed without a question', (path) => {
    const rules = [{ tool: 'write', path: '**', decision: 'allow' }] as const;
    const here = permissionPolicy({ root, rules, freeReading: true });
    for (const tool of ['read', 'write'])
      expect(here.decide({ tool, input: { path } }).decision).toBe('ask');
    const command = `cat ${path}`;
    expect(here.decide({ tool: 'bash', input: { command } }).decision).toBe('ask');
  });

  test('18.109: the search tools leave them out', async () => {
    await writeTree(root, { 'kept/settings/millrace/config.json': '{"apiKey":"KEY"}', a: 'KEY' });
    const found = await runTool(grepTool({ workspace: createWorkspace({ root }) }), {
      pattern: 'KEY',
    });
    expect(JSON.stringify(found)).toContain('1:KEY');
    expect(JSON.stringify(found)).not.toContain('apiKey');
  });
});

describe('the compiled code of the agent is in the workspace', () => {
  afterEach(() => void vi.unstubAllEnvs());

  // The agent loads this code at its next start, outside of the sandbox. The sandbox protects it too.
  test.for([
    ['HOME', '.cache/millrace/compiled/v24/0a'],
    ['XDG_CACHE_HOME', 'millrace/compiled/v24/0a'],
  ] as const)('18.113: a broad rule does not cover the folder below %s', ([variable, path]) => {
    const root = temporaryFolder();
    vi.stubEnv('XDG_CACHE_HOME', '');
    vi.stubEnv(variable, root);
    const rules = [{ tool: 'write', path: '**', decision: 'allow' }] as const;
    const here = permissionPolicy({ root, rules });
    expect(here.decide({ tool: 'write', input: { path } }).decision).toBe('ask');
    expect(here.decide({ tool: 'write', input: { path: 'src/a.ts' } }).decision).toBe('allow');
  });
});

test('a workspace in such a folder is not protected', () => {
  const inside = permissionPolicy({ root: '/run/user/1000/project' });
  expect(inside.decide({ tool: 'read', input: { path: 'a.txt' } }).decision).toBe('allow');
  expect(policy.decide({ tool: 'read', input: { path: '/srv/process/a.txt' } }).decision).toBe(
    'allow',
  );
});
