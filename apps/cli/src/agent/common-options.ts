import type { AgentOptions } from '@millrace/agent';
import type { Chosen } from '../models/chosen.ts';
import type { BuildOptions } from './build-agent.ts';
import { withCacheHints } from './cache-hints.ts';
import { retrySettings } from './retry-settings.ts';

/** What an agent and its sub-agents go by alike. */
export function commonOptions(options: BuildOptions): Omit<AgentOptions, 'tools' | 'instructions'> {
  const { config, chosen, log, observers, clock, ids, onProblem } = options;
  return {
    provider: withCacheHints(chosen.provider),
    log,
    observers,
    request: chosen.request,
    limits: limitsOf(config),
    retry: retrySettings,
    compaction: { whenTokens: config.compactAtTokens ?? compactAt(chosen) },
    clock,
    ids,
    onDiagnostic: onProblem && ((problem) => onProblem(problem)),
  };
}

function limitsOf({ limits }: BuildOptions['config']): AgentOptions['limits'] {
  const { maxTurns, maxTokens, maxCost } = limits;
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCost !== undefined && { maxCost }),
  };
}

const usualTokens = 150_000;
/** Each request costs what it has in it, however much a model could take. */
const mostTokens = 250_000;

/** With room left for an answer and for what tools say meanwhile. */
function compactAt({ contextTokens }: Chosen): number {
  if (contextTokens === undefined) return usualTokens;
  return Math.min(mostTokens, Math.floor(contextTokens * 0.8));
}
