import type { Config } from '../config/config.ts';
import { countOf } from '../print/count-of.ts';
import type { Finding } from './finding.ts';

const about = 'config';

/** What was loaded, and what was left out. */
export function configFindings(config: Config): readonly Finding[] {
  const { files, warnings, models, mcpServers, permissions } = config;
  const from = files.length === 0 ? 'No configuration file: all is as usual' : files.join(', ');
  const more = [
    countOf(Object.keys(models).length, 'model'),
    countOf(mcpServers.length, 'MCP server'),
    countOf(permissions.rules.length, 'permission rule'),
  ].filter((text) => !text.startsWith('0 '));
  const text = more.length === 0 ? from : `${from} (${more.join(', ')})`;
  return [
    { about, state: 'ok', text },
    ...warnings.map((warning) => ({ about, state: 'warn', text: warning }) as const),
  ];
}

/** It could not be loaded, and everything else is looked at without it. */
export function badConfig(error: unknown): Finding {
  const text = error instanceof Error ? error.message : String(error);
  const advice = 'Mend it, or use another with --config <file>';
  return { about, state: 'fail', text, advice };
}
