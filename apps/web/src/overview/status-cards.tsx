import { Button, dayOrTime, duration } from '@millrace/react/controls';
import { useState } from 'react';
import { useAccess } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { taskTitle, waitingText } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { AnswerHere } from './answer-here.tsx';
import type { Failure, OverviewTask } from './overview-rows.ts';

export interface RunningProps {
  readonly tasks: readonly OverviewTask[];
  /** True if there may be more tasks than the list contains. */
  readonly isTruncated: boolean;
}

/** Lists running sessions. Sessions that wait for an approval come first. */
export function Running({ tasks, isTruncated }: RunningProps) {
  const t = pageLabels();
  const waiting = tasks.filter(({ digest }) => digest?.state === 'waiting').length;
  // At most one approval request is open, because its keys must have only one target.
  const [answering, setAnswering] = useState<string>();
  const { isReadOnly } = useAccess();
  return (
    <section className="overview-card" aria-labelledby="overview-running">
      <h2 id="overview-running">
        {t.runningSessions}{' '}
        <span className="overview-count">{`${tasks.length}${isTruncated && tasks.length > 0 ? '+' : ''}`}</span>
        {waiting > 0 && <span className="overview-waiting"> {waitingText(waiting)}</span>}
      </h2>
      {tasks.length === 0 ? (
        <p className="overview-none">
          {isTruncated ? t.nothingRunsInLatest : t.nothingRuns} {t.runsAppearHere}
        </p>
      ) : (
        <ul className="overview-list">
          {tasks.map((one) => (
            <RunningRow
              key={one.task.id}
              {...one}
              isOpen={answering === one.task.id}
              onToggle={
                isReadOnly
                  ? undefined
                  : () => setAnswering(answering === one.task.id ? undefined : one.task.id)
              }
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface RunningRowProps extends OverviewTask {
  /** True if the approval request of the session is visible. */
  readonly isOpen: boolean;
  /** Shows or hides the approval request. Undefined if the user may not answer. */
  readonly onToggle: (() => void) | undefined;
}

function RunningRow({ task, digest, isOpen, onToggle }: RunningRowProps) {
  const t = pageLabels();
  const since = digest?.running_since ?? null;
  const isWaiting = digest?.state === 'waiting';
  return (
    <li>
      <span className="overview-dot" data-look={isWaiting ? 'warn' : 'good'} />
      <Link to={{ page: 'task', id: task.id }}>{taskTitle(task)}</Link>
      <span className="overview-soft">{digest?.agents.join(', ')}</span>
      <span className="overview-end">
        {isWaiting ? t.waitsForApproval : since !== null && duration(Date.now() - since)}
        {isWaiting && onToggle !== undefined && (
          <Button
            size="small"
            aria-expanded={isOpen}
            aria-label={
              isOpen ? t.hideQuestionOf(taskTitle(task)) : t.answerSession(taskTitle(task))
            }
            onClick={onToggle}
          >
            {isOpen ? t.hide : t.answer}
          </Button>
        )}
      </span>
      {isWaiting && isOpen && <AnswerHere id={task.id} />}
    </li>
  );
}

export interface FailuresProps {
  readonly failures: readonly Failure[];
  /** True if there may be more failures than the list contains. */
  readonly isTruncated: boolean;
}

/** Lists failed sessions, each with the recorded reason. */
export function Failures({ failures, isTruncated }: FailuresProps) {
  const t = pageLabels();
  return (
    <section className="overview-card" aria-labelledby="overview-failures">
      <h2 id="overview-failures">
        {t.failures}{' '}
        <span className="overview-count">{`${failures.length}${isTruncated && failures.length > 0 ? '+' : ''}`}</span>
      </h2>
      {failures.length === 0 ? (
        <p className="overview-none">{t.nothingFailed}</p>
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
      <span className="overview-end">
        {Number.isFinite(changedAt) && dayOrTime(changedAt, pageLabels().locale)}
      </span>
      <p className="overview-reason">{reason}</p>
    </li>
  );
}
