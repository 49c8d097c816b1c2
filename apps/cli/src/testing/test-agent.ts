import { chmodSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { onTestFinished } from 'vitest';
import {
  temporaryFolder,
  writeTree,
} from '../../../../packages/tools/src/testing/temporary-folder.ts';
import { buildAgent } from '../agent/build-agent.ts';
import type { BuildOptions, BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { Config } from '../contract/config.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';

/** Creates a temporary folder with these files. It is removed after the test. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const folder = temporaryFolder();
  writeTree(folder, files);
  return folder;
}

function configWith(config: Partial<Config> = {}): Config {
  const permissions = { mode: 'ask', rules: [] } as const;
  return {
    ...{ models: {}, limits: {}, permissions, mcpServers: [], files: [], warnings: [] },
    ...config,
  };
}

export function chosenModel(provider: Provider, chosen: Partial<ChosenModel> = {}): ChosenModel {
  return { provider, label: provider.model, why: 'Because of a test.', isDemo: false, ...chosen };
}

export interface TestAgent extends BuiltAgent {
  readonly log: Log;
  readonly cwd: string;
}

type TestAgentOptions = Omit<Partial<BuildOptions>, 'config'> & {
  readonly provider: Provider;
  readonly config?: Partial<Config>;
};

/** Builds an agent in a folder. It is closed after the test. */
export async function testAgent(given: TestAgentOptions): Promise<TestAgent> {
  const { provider, config, ...options } = given;
  const { log = memoryLog(), cwd = folderWith() } = options;
  const chosen = chosenModel(provider);
  const built = await buildAgent({
    ...{ approve: 'wait', chosen, ...options },
    ...{ config: configWith(config), log, cwd },
  });
  onTestFinished(() => built.close());
  // The object is changed and not copied, because the tools of MCP servers are added later.
  return Object.assign(built, { log, cwd });
}

type Files = Readonly<Record<string, string>>;

/** Creates a home folder and a project that is a repository. Scripts are executable. */
export function homeAndProject(files: Files) {
  const outer = realpathSync(
    folderWith({ 'home/.keep': '', 'project/.git/HEAD': 'ref: refs/heads/main\n', ...files }),
  );
  for (const path of Object.keys(files))
    if (/\.(?:sh|py)$/.test(path)) chmodSync(join(outer, path), 0o755);
  const home = join(outer, 'home');
  const env = { HOME: home, PATH: process.env['PATH'] };
  const foldersFile = join(home, '.config/millrace/folders.json');
  return { home, env, cwd: join(outer, 'project'), config: { foldersFile } };
}

/** A hook for PreToolUse in shell. It denies calls that name `secret.txt`. */
export const guardScript: string = `input=$(cat)
case "$input" in *secret.txt*) echo "That file is closed" >&2; exit 2;; esac
`;

/** A settings file with one hook. */
export function hookSettings(event: string, command: string, more: object = {}): string {
  const { matcher, ...handler } = more as { readonly matcher?: string };
  return JSON.stringify({
    hooks: { [event]: [{ matcher, hooks: [{ type: 'command', command, ...handler }] }] },
  });
}

/** Builds an agent with the extensions of a folder that the user trusts. */
export async function extendedAgent(
  files: Files,
  script: readonly ScriptEntry[],
  more: Partial<Parameters<typeof testAgent>[0]> = {},
) {
  const place = homeAndProject(files);
  const { extensions } = await loadExtensions({ ...place, trust: true });
  const provider = scriptedProvider(script);
  const { env, cwd } = place;
  const notices: string[] = [];
  const built = await testAgent({ ...{ provider, cwd, extensions, env }, ...more });
  built.onNotice((text) => notices.push(text));
  return { ...place, built, provider, extensions, notices };
}
