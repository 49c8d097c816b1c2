import { isMillraceError } from '@millrace/core';
import type { Config } from '../contract/config.ts';
import { chooseModel } from '../models/choose-model.ts';
import { countOf } from '../print/text-table.ts';
import type { Check, Finding } from './check.ts';

const configTopic = 'config';

/** Reports which files were loaded and which settings were skipped. */
export function configFindings(config: Config): readonly Finding[] {
  const { files, warnings, models, mcpServers, permissions } = config;
  const from = files.length === 0 ? 'No configuration file; the defaults apply' : files.join(', ');
  const more = [
    countOf(Object.keys(models).length, 'model'),
    countOf(mcpServers.length, 'MCP server'),
    countOf(permissions.rules.length, 'permission rule'),
  ].filter((text) => !text.startsWith('0 '));
  const text = more.length === 0 ? from : `${from} (${more.join(', ')})`;
  return [
    { about: configTopic, state: 'ok', text },
    ...warnings.map((warning) => ({ about: configTopic, state: 'warn', text: warning }) as const),
  ];
}

/** Returns the finding for an invalid configuration. The other checks then run without one. */
export function invalidConfigFinding(error: unknown): Finding {
  const text = error instanceof Error ? error.message : String(error);
  const advice = 'Fix it, or use another file with --config <file>';
  return { about: configTopic, state: 'fail', text, advice };
}

const modelTopic = 'model';

/** Reports the model that a run would use, and the reason. */
export const checkModel: Check = async ({ config, ...rest }) => {
  try {
    const { why, isDemo, contextTokens } = await chooseModel({
      ...rest,
      config: config ?? { models: {} },
    });
    const window = contextTokens === undefined ? '' : ` Its context has ${contextTokens} tokens.`;
    if (!isDemo) return [{ about: modelTopic, state: 'ok', text: `${why}${window}` }];
    const advice = 'Set a key, such as ANTHROPIC_API_KEY, or start a local server, such as Ollama';
    return [{ about: modelTopic, state: 'warn', text: why, advice }];
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return [{ about: modelTopic, state: 'fail', text: error.message }];
  }
};
