import { duration } from '@millrace/react/controls';
import { Link } from '../app/route.tsx';
import {
  type CaseSide,
  type ComparedCase,
  type ComparedRun,
  costText,
  score,
  signed,
} from './experiment-data.ts';
import { experimentLabels } from './labels/load-labels.ts';

const marks = { worse: '▼', better: '▲', same: '=', unknown: '?' } as const;

/** The compared cases, each with links to its sessions, their comparison, and the votes of judges. */
export function CaseList({ cases }: { readonly cases: readonly ComparedCase[] }) {
  const t = experimentLabels();
  return (
    <ol className="cases" aria-label={t.cases}>
      {cases.map((one) => (
        <CaseRow key={one.case} row={one} />
      ))}
    </ol>
  );
}

function CaseRow({ row }: { readonly row: ComparedCase }) {
  const t = experimentLabels();
  const { a, b, change, difference } = row;
  const [runA] = a?.runs ?? [];
  const [runB] = b.runs;
  return (
    <li className="case" data-change={a === null ? undefined : change}>
      <div className="case-head">
        {a !== null && (
          <span className="case-change">
            <span aria-hidden="true">{marks[change]}</span> {t[change]}
          </span>
        )}
        <h3>{row.case}</h3>
        <span className="case-scores">
          {a !== null && <Mean name="A" side={a} />}
          {a !== null && <span aria-hidden="true">→</span>}
          <Mean name={a === null ? '' : 'B'} side={b} />
          {difference !== null && a !== null && change !== 'same' && (
            <span className="case-difference">{signed(difference)}</span>
          )}
        </span>
        <span className="case-links">
          {a === null && runB !== undefined && <SessionLink run={runB} side="B" />}
          {runA !== undefined && runB !== undefined && <DiffLink a={runA} b={runB} of={row.case} />}
        </span>
      </div>
      <details>
        <summary>{t.runsAndVotes}</summary>
        <div className="case-sides">
          {a !== null && <Runs name="A" side={a} />}
          <Runs name={a === null ? '' : 'B'} side={b} others={a?.runs} of={row.case} />
        </div>
      </details>
    </li>
  );
}

function Mean({ name, side }: { readonly name: string; readonly side: CaseSide }) {
  const t = experimentLabels();
  return (
    <span>
      <small>{name}</small> {side.mean === null ? t.noScore : score(side.mean)}
    </span>
  );
}

interface RunsProps {
  readonly name: string;
  readonly side: CaseSide;
  /** The runs of the other side. */
  readonly others?: readonly ComparedRun[] | undefined;
  readonly of?: string;
}

function Runs({ name, side, others = [], of = '' }: RunsProps) {
  const t = experimentLabels();
  const hidden = side.run_count - side.runs.length;
  return (
    <div className="case-side">
      {name !== '' && <h4>{name}</h4>}
      {side.runs.length === 0 && <p>{t.noScore}</p>}
      <ul>
        {side.runs.map((run) => {
          const other = others.find(({ repeat }) => repeat === run.repeat);
          return (
            <li key={run.repeat}>
              <p className="run-line">
                <span>{t.repeat(run.repeat)}</span>
                <b>{run.score === null ? t.noScore : score(run.score)}</b>
                {run.status !== 'open' && <span>{duration(run.duration_ms)}</span>}
                {run.costs.length > 0 && <span>{costText(run.costs)}</span>}
                {run.status !== 'open' && <SessionLink run={run} side={name} />}
                {other !== undefined && <DiffLink a={other} b={run} of={of} />}
              </p>
              {run.status === 'open' && <p className="run-reason">{t.notRun}</p>}
              {run.error !== null && <p className="run-error">{run.error}</p>}
              {run.reason !== null && run.error === null && run.votes.length === 0 && (
                <p className="run-reason">{run.reason}</p>
              )}
              {run.votes.length > 0 && <Votes run={run} />}
            </li>
          );
        })}
      </ul>
      {hidden > 0 && <p>{t.moreRuns(hidden)}</p>}
    </div>
  );
}

/** The votes of a judge. Each vote is a session with the whole prompt. */
function Votes({ run }: { readonly run: ComparedRun }) {
  const t = experimentLabels();
  return (
    <ul className="votes">
      {run.votes.map(({ session_id: id, value, reason }, at) => (
        <li key={id}>
          <Link to={{ page: 'task', id }}>{t.vote(at + 1, score(value))}</Link>{' '}
          <span className="run-reason">{reason}</span>
        </li>
      ))}
    </ul>
  );
}

function SessionLink({ run, side }: { readonly run: ComparedRun; readonly side: string }) {
  const t = experimentLabels();
  return (
    <Link
      to={{ page: 'task', id: run.session_id }}
      aria-label={t.sessionOf(side, run.repeat).replace('  ', ' ')}
    >
      {t.session}
    </Link>
  );
}

interface DiffLinkProps {
  readonly a: ComparedRun;
  readonly b: ComparedRun;
  /** The id of the case. */
  readonly of: string;
}

function DiffLink({ a, b, of }: DiffLinkProps) {
  const t = experimentLabels();
  if (a.status === 'open' || b.status === 'open') return null;
  const to = { page: 'diff', id: b.session_id, other: a.session_id } as const;
  return (
    <Link to={to} aria-label={t.diffOf(of, b.repeat)}>
      {t.diff}
    </Link>
  );
}
