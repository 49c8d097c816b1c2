import type { SpanService } from '../../contract/service.ts';
import type { ScopeRules } from './scope-rules.ts';

/** A span need not be of a task; such a one is for agents that know its id, which cannot be guessed. */
export function scopedSpans(spans: SpanService, rules: ScopeRules): SpanService {
  const isMine = async ({ task_id }: { readonly task_id: string | null }) =>
    task_id === null ? rules.scope.kind === 'agent' : rules.hasTask(task_id);
  const mine = (id: string) => rules.own('span', id, spans.get(id), isMine);
  return {
    async create(body) {
      if (body.task_id != null) await rules.task(body.task_id);
      else if (rules.scope.kind === 'task') throw rules.refuse('make a span of no task');
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
