import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { onTestFinished } from 'vitest';
import {
  temporaryFolder,
  writeTree,
} from '../../../../packages/tools/src/testing/temporary-folder.ts';
import { buildAgent } from '../agent/build-agent.ts';
import type { BuildOptions, BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { Config } from '../contract/config.ts';

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
  // Not a copy, because the tools of MCP servers are added later.
  return Object.assign(built, { log, cwd });
}
