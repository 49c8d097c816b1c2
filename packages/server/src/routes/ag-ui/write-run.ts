import { toArray } from '@millrace/core';
import { encodeComment, encodeFrame, sseHeaders } from '@millrace/core/streams';
import { snapshot } from '@millrace/log';
import type { HttpResponse } from '../../contract/http.ts';
import { type RouteContext, StreamReply } from '../../http/route.ts';
import { writeLines } from '../../http/write-lines.ts';
import { openStored, type ResponseStep } from '../openai/response-log.ts';
import { whileConnected } from '../openai/write-response.ts';
import type { OpenedRun } from './open-run.ts';
import type { RunEvent } from './run-end.ts';
import { protocolVersion } from './run-input.ts';
import { RunView } from './run-view.ts';
import { messagesOf } from './thread-messages.ts';
import { StateReport } from './thread-state.ts';

/** Writes the events of a run as server-sent events. */
export function streamRun(
  run: OpenedRun,
  { stopsOnClose }: { readonly stopsOnClose: boolean },
  context: RouteContext,
): StreamReply {
  const { clock, toServerError } = context;
  const opened = { question: run.question, agent: run.agent.name };
  const write = async (response: HttpResponse) => {
    response.writeHead(200, { ...sseHeaders });
    response.flushHeaders();
    const line = (event: RunEvent) => encodeFrame({ data: JSON.stringify(event) });
    const errorLine = (error: unknown) => {
      const { code, message } = toServerError(error);
      return line({ type: 'RUN_ERROR', code, message });
    };
    await whileConnected(opened, response, { stopsOnClose }, context, (signal) =>
      writeLines(response, runEvents(run, context, signal), {
        ...{ context, errorLine, line },
        heartbeat: { clock, everyMs: 15_000, text: `${encodeComment('ping')}\n` },
      }),
    );
  };
  // A request without new input changes nothing.
  return new StreamReply(write, { isRefusable: run.isRepeat, isReplay: true });
}

/**
 * Yields the events of a run. A new run is sent from its start. If the run existed before, the client receives
 * the list of messages as it is now, and then what follows.
 */
async function* runEvents(
  run: OpenedRun,
  context: RouteContext,
  signal: AbortSignal,
): AsyncGenerator<RunEvent> {
  const { request, taskId, agent } = run;
  yield runStarted(run);
  const report = new StateReport({ taskId, agentId: agent.id }, request.state ?? {}, context);
  yield* await context.inTurn(() => report.start(), 'wait');
  const stored = await context.inTurn(() => readStored(run, report, context), 'wait');
  yield* stored.events;
  if (stored.response.end !== undefined) return;
  for await (const more of stored.response.follow(signal))
    yield* eventsOf(more, stored.view, report);
}

/** Reads the stored part of a run. Returns its events, and what is needed to follow the rest of it. */
async function readStored(run: OpenedRun, report: StateReport, { log }: RouteContext) {
  const { request, taskId, question, isRepeat, isInSync } = run;
  // The whole session is read first. An item that is missing in the part after it is therefore an earlier item.
  const whole = await snapshot(log, taskId);
  const { response, steps, fold } = await openStored(question, log);
  const near = new Set(toArray(response.state.fold.items).map(({ id }) => id));
  const { threadId, runId } = request;
  const view = new RunView({
    ...{ threadId, runId, isInSync: isInSync && !isRepeat },
    earlier: messagesOf(
      whole,
      toArray(whole.items).filter(({ id }) => !near.has(id)),
    ),
    shown: request.messages.map(({ id }) => id),
    callerTools: (question.caller.tools ?? []).map(({ name }) => name),
  });
  if (!isRepeat) return { view, response, events: eventsOf(steps, view, report) };
  for (const step of steps) view.skip(step);
  const end = steps.at(-1)?.end;
  // A message that still waits is not in the state yet. The list follows when its turn starts.
  const isListed = end !== undefined || view.hasTurn || !question.isMessage;
  const listed = isListed ? view.resume(fold) : [];
  if (end === undefined) return { view, response, events: listed };
  const ending = view.end(steps.at(-1)?.after.fold ?? fold, end);
  return { view, response, events: [...listed, ...(await report.changes()), ...ending] };
}

async function* eventsOf(
  steps: readonly ResponseStep[],
  view: RunView,
  report: StateReport,
): AsyncGenerator<RunEvent> {
  const last = steps.at(-1);
  for (const step of steps) yield* withState(view.add(step, step === last), report);
}

/** Adds the changes of the state after each result of a tool, and before the end of the run. */
async function* withState(
  events: readonly RunEvent[],
  report: StateReport,
): AsyncGenerator<RunEvent> {
  for (const event of events) {
    const isEnd = event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';
    if (isEnd) yield* await report.changes();
    yield event;
    if (event.type === 'TOOL_CALL_RESULT') yield* await report.changes();
  }
}

function runStarted({ request, taskId, warnings }: OpenedRun): RunEvent {
  const { threadId, runId, parentRunId } = request;
  const millrace = { taskId, ...(warnings.length > 0 && { warnings }) };
  return {
    ...{ type: 'RUN_STARTED', threadId, runId, protocolVersion },
    ...(parentRunId !== undefined && { parentRunId }),
    metadata: { millrace },
  };
}
