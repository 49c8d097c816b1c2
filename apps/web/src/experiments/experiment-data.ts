import type { Route } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';

/** A cost, as the server reports it. */
export interface Cost {
  readonly amount: string;
  readonly currency: string;
}

export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly confidence: number;
}

export interface Difference {
  readonly mean: number;
  readonly interval: Interval | null;
  readonly cases: number;
}

interface VariantScore {
  readonly scorer: string;
  readonly mean: number;
  readonly interval: Interval | null;
  readonly pass_rate: number;
  readonly cases: number;
  readonly runs: number;
  readonly difference: Difference | null;
}

/** The results of a variant. */
export interface Variant {
  readonly name: string;
  readonly is_baseline: boolean;
  readonly runs: number;
  readonly ended: number;
  readonly failed: number;
  readonly open: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly costs: readonly Cost[];
  readonly score_costs: readonly Cost[];
  readonly mean_ms: number;
  readonly p95_ms: number;
  readonly scores: readonly VariantScore[];
}

/** The reply of `GET /experiments/{name}`. */
export interface Experiment {
  readonly name: string;
  readonly session_id: string;
  readonly changed_at: number;
  readonly is_running: boolean;
  readonly is_complete: boolean;
  readonly is_whole: boolean;
  readonly cases: number;
  readonly runs: number;
  readonly ended: number;
  readonly failed: number;
  readonly scorers: readonly string[];
  readonly variants: readonly Variant[];
}

export interface ExperimentList {
  readonly data: readonly Experiment[];
  readonly next: string | null;
}

interface Vote {
  readonly session_id: string;
  readonly value: number;
  readonly reason: string;
}

export interface ComparedRun {
  readonly repeat: number;
  readonly session_id: string;
  readonly status: 'finished' | 'failed' | 'open';
  readonly error: string | null;
  readonly score: number | null;
  readonly reason: string | null;
  readonly votes: readonly Vote[];
  readonly duration_ms: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly costs: readonly Cost[];
}

export interface CaseSide {
  readonly mean: number | null;
  readonly runs: readonly ComparedRun[];
  readonly run_count: number;
}

/** The changes in the order of the filter. */
export const changes = ['worse', 'better', 'same', 'unknown'] as const;
export type Change = (typeof changes)[number];

export interface ComparedCase {
  readonly case: string;
  readonly change: Change;
  readonly difference: number | null;
  readonly a: CaseSide | null;
  readonly b: CaseSide;
}

interface ComparedVariant {
  readonly experiment: string;
  readonly variant: string;
}

/** The reply of `GET /experiments/{name}/cases`. */
export interface CaseComparison {
  readonly a: ComparedVariant | null;
  readonly b: ComparedVariant;
  readonly scorer: string | null;
  readonly is_whole: boolean;
  readonly counts: Readonly<Record<Change, number>>;
  readonly difference: Difference | null;
  readonly total: number;
  readonly data: readonly ComparedCase[];
}

/** The variants, the scorer and the cases that the page of an experiment shows. The address contains them. */
export interface ComparisonQuery {
  readonly variant?: string | undefined;
  readonly other?: string | undefined;
  readonly otherExperiment?: string | undefined;
  readonly scorer?: string | undefined;
  readonly change?: string | undefined;
  /** The number of the page of cases. */
  readonly page?: number | undefined;
}

const names = {
  ...{ variant: 'variant', other: 'other', otherExperiment: 'other_experiment' },
  ...{ scorer: 'scorer', change: 'change', page: 'page_number' },
} as const satisfies Readonly<Record<keyof ComparisonQuery, string>>;

/** Returns the parameters of a comparison. The page and the server use the same names. */
export function queryText(query: ComparisonQuery): string {
  const entries = (Object.keys(names) as (keyof ComparisonQuery)[]).flatMap((key) =>
    query[key] === undefined ? [] : [[names[key], String(query[key])]],
  );
  return new URLSearchParams(entries).toString();
}

/** Returns the page of an experiment. */
export function routeTo(name: string, query: ComparisonQuery = {}): Route {
  const text = queryText(query);
  const path = `/${encodeURIComponent(name)}`;
  return { page: 'experiments', path: text === '' ? path : `${path}?${text}` };
}

/** Reads what to compare from the query of an address. */
export function readQuery(text: string): ComparisonQuery {
  const given = new URLSearchParams(text);
  const read = (key: keyof ComparisonQuery) => given.get(names[key]) ?? undefined;
  const page = Number(read('page') ?? 1);
  const change = changes.find((one) => one === read('change'));
  return {
    ...{ variant: read('variant'), other: read('other'), scorer: read('scorer'), change },
    otherExperiment: read('otherExperiment'),
    page: Number.isSafeInteger(page) && page > 1 ? page : undefined,
  };
}

/** Formats a score, for example `0.83`. */
export function score(value: number): string {
  return value.toLocaleString(pageLabels().locale, fraction);
}

/** Formats a difference with its sign, for example `+0.12`. */
export function signed(value: number): string {
  // A tiny negative number is shown without a sign.
  const rounded = Math.round(value * 100) / 100 || 0;
  const text = Math.abs(rounded).toLocaleString(pageLabels().locale, fraction);
  return rounded === 0 ? `±${text}` : `${rounded > 0 ? '+' : '−'}${text}`;
}

const fraction = { minimumFractionDigits: 2, maximumFractionDigits: 2 } as const;

export function percent(value: number): string {
  const options = { style: 'percent', maximumFractionDigits: 0 } as const;
  return value.toLocaleString(pageLabels().locale, options);
}

export function count(value: number): string {
  return value.toLocaleString(pageLabels().locale);
}

/** Formats costs with at most four decimal places. */
export function costText(costs: readonly Cost[]): string {
  const { locale } = pageLabels();
  const format = { minimumFractionDigits: 2, maximumFractionDigits: 4 };
  return costs
    .map(({ amount, currency }) => `${Number(amount).toLocaleString(locale, format)} ${currency}`)
    .join(' + ');
}
