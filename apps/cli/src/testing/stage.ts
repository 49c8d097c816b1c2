import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { onTestFinished } from 'vitest';
import {
  temporaryFolder,
  writeTree,
} from '../../../../packages/tools/src/testing/temporary-folder.ts';
import { type BuildOptions, buildAgent } from '../agent/build-agent.ts';
import type { BuiltAgent } from '../agent/built-agent.ts';
import type { Config } from '../config/config.ts';
import type { Chosen } from '../models/chosen.ts';

/** A folder with these files, gone with the test. */
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

export function chosenOf(provider: Provider, chosen: Partial<Chosen> = {}): Chosen {
  return { provider, label: provider.model, why: 'Because of a test.', isDemo: false, ...chosen };
}

export interface Staged extends BuiltAgent {
  readonly log: Log;
  readonly cwd: string;
}

type StageOptions = Omit<Partial<BuildOptions>, 'config'> & {
  readonly provider: Provider;
  readonly config?: Partial<Config>;
};

/** An agent in a folder, closed when the test is over. */
export async function stage(given: StageOptions): Promise<Staged> {
  const { provider, config, ...options } = given;
  const { log = memoryLog(), cwd = folderWith() } = options;
  const chosen = chosenOf(provider);
  const built = await buildAgent({
    ...{ approve: 'wait', chosen, ...options },
    ...{ config: configWith(config), log, cwd },
  });
  onTestFinished(() => built.close());
  return { ...built, log, cwd };
}
