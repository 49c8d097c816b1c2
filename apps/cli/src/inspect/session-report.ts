import { addUsage, cachedPercent, noUsage, type Usage } from '@millrace/core';
import { countOf, type TableOptions, textTable } from '../print/text-table.ts';
import { oneLine } from '../text/cells/printable.ts';
import { usageText } from './record-rows.ts';
import type { AttemptReport, ToolReport, TurnReport } from './turn-reports.ts';

const noValue = '–';

/** Formats the report. It has a table of requests, a table of tools, and the totals. */
export function reportLines(
  turns: readonly TurnReport[],
  totals: SessionTotals,
  columns?: number,
): readonly string[] {
  const requests = turns.flatMap(({ turn, attempts }) =>
    attempts.map((one) => requestRow(turn, one)),
  );
  const tools = turns.flatMap((turn) => turn.tools.map((tool) => toolRow(turn.turn, tool)));
  return [
    ...section('Requests', [requestHead, ...requests], {
      columns,
      rightAligned: [1, 2, 3, 4, 5, 6],
    }),
    ...section('Tools', [toolHead, ...tools], { columns, rightAligned: [1, 2] }),
    ...section('Sub-agents', [childHead, ...totals.children.map(childRow)], {
      columns,
      rightAligned: [1, 2, 3, 4],
    }),
    ...totalLines(totals),
  ];
}

function section(
  title: string,
  rows: readonly (readonly string[])[],
  options: TableOptions,
): readonly string[] {
  return rows.length < 2 ? [] : [title, '', ...textTable(rows, options), ''];
}

const requestHead = ['turn', 'first', 'whole', 'in', 'cached', 'out', 'per s', 'cost', 'model'];

function requestRow(turn: number, one: AttemptReport): readonly string[] {
  const { usage, superseded, retryDelayMs } = one;
  const about = usage?.estimated ? '~' : '';
  const retryText = retryDelayMs === undefined ? '' : `, retried after ${duration(retryDelayMs)}`;
  const open = one.durationMs === undefined ? ' (no end)' : '';
  const outcome = superseded === undefined ? open : ` (${superseded}: superseded${retryText})`;
  return [
    `${turn}.${one.attempt}`,
    duration(one.timeToFirstTokenMs),
    duration(one.durationMs),
    usage ? `${about}${usage.input}` : noValue,
    usage ? percent(usage) : noValue,
    usage ? `${about}${usage.output}` : noValue,
    one.tokensPerSecond?.toFixed(1) ?? noValue,
    usage?.costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' ') || noValue,
    oneLine(`${one.provider}/${one.model}${outcome}`, 200),
  ];
}

const toolHead = ['turn', 'took', 'asked', 'what'];

function toolRow(turn: number, tool: ToolReport): readonly string[] {
  const { summary, outcome, isError, child } = tool;
  const bad = outcome === undefined ? 'no end' : isError ? 'failed' : undefined;
  const outcomeText = outcome === 'completed' || outcome === undefined ? bad : outcome;
  const more = [outcomeText, child && `session ${child}`].filter(Boolean).join(', ');
  return [
    String(turn),
    duration(tool.durationMs),
    duration(tool.approvalMs),
    oneLine(`${summary}${more === '' ? '' : ` (${more})`}`, 200),
  ];
}

const childHead = ['agent', 'requests', 'in', 'cached', 'out', 'cost'];

function childRow({ agent, requests, usage }: ChildTotals): readonly string[] {
  const about = usage.estimated ? '~' : '';
  return [
    oneLine(agent, 60),
    String(requests),
    `${about}${usage.input}`,
    percent(usage),
    `${about}${usage.output}`,
    usage.costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' ') || noValue,
  ];
}

function totalLines(totals: SessionTotals): readonly string[] {
  const { turns, attempts, retries, executions, failedExecutions, usage } = totals;
  const again = retries === 0 ? '' : ` (${retries} of them repeated)`;
  const failed = failedExecutions === 0 ? '' : ` (${failedExecutions} failed)`;
  const { cacheRead, reasoning } = usage;
  const asked = totals.approvalMs === 0 ? '' : `, approvals ${duration(totals.approvalMs)}`;
  return [
    `${countOf(turns, 'turn')}, ${countOf(attempts, 'request')}${again}, ${countOf(executions, 'tool call')}${failed}`,
    `Tokens: ${usageText(usage)}; ${cacheRead} input tokens from the cache (${percent(usage)}), ${reasoning} output tokens for reasoning`,
    `Time: model ${duration(totals.modelMs)}, tools ${duration(totals.toolMs)}${asked}`,
  ];
}

/** Returns the share of the input that came from the provider's cache, in percent. */
function percent(usage: Usage): string {
  const share = cachedPercent(usage);
  return share === undefined ? noValue : `${share} %`;
}

function duration(ms: number | undefined): string {
  if (ms === undefined) return noValue;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** The totals over all turns of a session. */
interface SessionTotals {
  readonly turns: number;
  readonly attempts: number;
  /** The number of superseded attempts. */
  readonly retries: number;
  readonly executions: number;
  readonly failedExecutions: number;
  /** The usage, including superseded attempts and sub-agents. */
  readonly usage: Usage;
  /** The usage of each sub-agent. It is also part of `usage`. */
  readonly children: readonly ChildTotals[];
  /**
   * The time spent on model requests. The fields below are for tools and approvals. The times of
   * parallel tools are added up.
   */
  readonly modelMs: number;
  readonly toolMs: number;
  readonly approvalMs: number;
}

interface ChildTotals {
  readonly agent: string;
  readonly requests: number;
  readonly usage: Usage;
}

export function sessionTotals(turns: readonly TurnReport[]): SessionTotals {
  const attempts = turns.flatMap((turn) => turn.attempts);
  const tools = turns.flatMap((turn) => turn.tools);
  const requests = turns.flatMap((turn) => turn.children);
  const used = [...attempts, ...requests].flatMap(({ usage }) => usage ?? []);
  const children = [...Map.groupBy(requests, ({ agent }) => agent)].map(([agent, own]) => ({
    ...{ agent, requests: own.length },
    usage: own.reduce((total, { usage }) => addUsage(total, usage), noUsage),
  }));
  return {
    turns: turns.length,
    attempts: attempts.length,
    retries: attempts.filter(({ superseded }) => superseded !== undefined).length,
    executions: tools.length,
    failedExecutions: tools.filter(({ isError }) => isError).length,
    usage: used.reduce(addUsage, noUsage),
    children,
    modelMs: sum(attempts.map(({ durationMs }) => durationMs)),
    toolMs: sum(tools.map(({ durationMs }) => durationMs)),
    approvalMs: sum(tools.map(({ approvalMs }) => approvalMs)),
  };
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
}
