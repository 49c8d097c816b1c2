import { addUsage, noUsage } from '@millrace/core';
import type { TaskDigest } from '../contract/inspection.ts';
import type { DigestState } from './digest-state.ts';

/** What a session came to, in the words of the wire. */
export function digestReply({
  runSince,
  asked,
  stop,
  error,
  through,
  uses,
}: DigestState): Omit<TaskDigest, 'task_id' | 'agents' | 'is_whole'> {
  const ongoing = asked.size > 0 ? 'waiting' : 'running';
  return {
    through,
    state: runSince === undefined && asked.size === 0 ? 'idle' : ongoing,
    running_since: runSince ?? null,
    stop: stop ?? null,
    error: error ?? null,
    usage: usageByModel(uses),
  };
}

function usageByModel(uses: DigestState['uses']): TaskDigest['usage'] {
  const byModel = Map.groupBy(uses.values(), ({ provider, model }) =>
    JSON.stringify([provider, model]),
  );
  return [...byModel.values()].map((all) => {
    const reported = all.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
    const { costs, ...total } = reported.reduce(addUsage, noUsage);
    return {
      provider: all[0]?.provider ?? null,
      model: all[0]?.model ?? null,
      attempts: all.length,
      usage: { ...total, costs: [...costs] },
    };
  });
}
