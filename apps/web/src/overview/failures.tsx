import { Link } from '../app/link.tsx';
import { taskTitle } from '../app/task-words.ts';
import { dayOrTime } from '../design/time.ts';
import type { Failure } from './overview-figures.ts';

export interface FailuresProps {
  readonly failures: readonly Failure[];
  /** There may be more than was found. */
  readonly isCut: boolean;
}

/** What went wrong, with the reason that was recorded. */
export function Failures({ failures, isCut }: FailuresProps) {
  return (
    <section className="overview-card" aria-labelledby="overview-failures">
      <h2 id="overview-failures">
        Failures{' '}
        <span className="overview-count">{`${failures.length}${isCut && failures.length > 0 ? '+' : ''}`}</span>
      </h2>
      {failures.length === 0 ? (
        <p className="overview-none">
          Nothing failed. A task that does is listed here with its reason, and a message to it takes
          it up again.
        </p>
      ) : (
        <ul className="overview-list">
          {failures.map((failure) => (
            <FailureRow key={failure.task.id} {...failure} />
          ))}
        </ul>
      )}
    </section>
  );
}

function FailureRow({ task, agent, reason }: Failure) {
  const changedAt = Date.parse(task.updated_at ?? '');
  return (
    <li>
      <span className="overview-dot" data-look="bad" />
      <Link to={{ page: 'task', id: task.id }}>{taskTitle(task)}</Link>
      <span className="overview-soft">{agent}</span>
      <span className="overview-end">{Number.isFinite(changedAt) && dayOrTime(changedAt)}</span>
      <p className="overview-reason">{reason}</p>
    </li>
  );
}
