import type { SpanService } from '../service.ts';
import { hidden, type ScopeRules } from './scope-rules.ts';

/** A span need not be of a task; such a one is for agents that know its id, which cannot be guessed. */
export function scopedSpans(spans: SpanService, rules: ScopeRules): SpanService {
  const check = async (id: string, taskId: string | null | undefined) => {
    if (taskId != null) await rules.task(taskId);
    else if (rules.scope.kind === 'task') throw hidden('span', id);
  };
  const mine = async (id: string) => {
    const span = await spans.get(id);
    await check(id, span.task_id);
    return span;
  };
  return {
    async create(body) {
      await check(body.id ?? '', body.task_id);
      return spans.create(body);
    },
    get: mine,
    async list(query) {
      const { scope } = rules;
      if (query.taskId !== undefined) await rules.task(query.taskId);
      if (scope.kind === 'task') return spans.list({ ...query, taskId: scope.taskId });
      if (query.taskId === undefined) throw rules.refuse('list spans of no task');
      return spans.list(query);
    },
    async update(id, body) {
      await mine(id);
      if (body.task_id != null) await rules.task(body.task_id);
      return spans.update(id, body);
    },
  };
}
