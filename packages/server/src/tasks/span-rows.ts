import { isId, type JsonObject } from '@millrace/core';
import type { CreateSpan } from '../contract/request-bodies.ts';
import type { Row, Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { SpanService } from '../contract/service.ts';
import type { SpanInfo } from '../contract/task.ts';
import { changeRow } from './change-row.ts';
import { listRows } from './list-rows.ts';
import { noSuch, rowRefusal } from './row-errors.ts';

export function spanService(rows: Rows, makeId: () => string): SpanService {
  return {
    async create(body) {
      const span = spanOf(body.id ?? makeId(), body);
      assertIds(span);
      const row = { id: span.id, ...contentOf(span) };
      return rows.put('spans', row, { ifVersion: 0 }).then(spanInfo, (error) => {
        throw rowRefusal(error);
      });
    },
    async get(id) {
      const row = await rows.get('spans', id);
      if (row === undefined) throw noSuch('span', id);
      return spanInfo(row);
    },
    list: ({ traceId, taskId, ...page }) =>
      listRows(
        rows,
        { table: 'spans', where: { trace_id: traceId, task_id: taskId }, show: spanInfo },
        page,
      ),
    async update(id, body) {
      const given = Object.fromEntries(
        Object.entries(body).filter(([, value]) => value !== undefined && value !== null),
      );
      const { row } = await changeRow(rows, 'spans', id, (before) => {
        const span = { ...spanInfo(before), ...given };
        assertIds(span);
        return contentOf(span);
      });
      return spanInfo(row);
    },
  };
}

function spanOf(id: string, body: CreateSpan): SpanInfo {
  const { trace_id, name, start_time } = body;
  return {
    ...{ id, trace_id, name, start_time },
    ...{ end_time: body.end_time ?? null, task_id: body.task_id ?? null },
    ...{ parent_id: body.parent_id ?? null, input: body.input ?? null },
    ...{ output: body.output ?? null, data: body.data ?? null },
  };
}

function assertIds({ id, trace_id, task_id }: SpanInfo): void {
  const areIds = [id, trace_id, task_id ?? id].every(isId);
  if (!areIds)
    throw new ServerError(
      'invalid',
      'Cannot keep a span: an id of it has other than printable characters',
    );
}

function contentOf({ id: _, ...span }: SpanInfo): Pick<Row, 'keys' | 'data'> {
  const { trace_id, task_id } = span;
  return { keys: { trace_id, ...(task_id !== null && { task_id }) }, data: span as JsonObject };
}

function spanInfo({ id, data }: Row): SpanInfo {
  return { id, ...(data as unknown as Omit<SpanInfo, 'id'>) };
}
