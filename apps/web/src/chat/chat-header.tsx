import type { LiveSource } from '@millrace/react';
import { useTaskRow } from '@millrace/react';
import { IconButton, TimelineIcon } from '@millrace/react/controls';
import type { ReactNode } from 'react';
import { useListedTask, useTaskTitle } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { ShareButton } from '../app/share/share-button.tsx';
import { statusBadge } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';

export interface ChatHeaderProps {
  readonly live: LiveSource;
  readonly isInspecting: boolean;
  readonly onInspect: (() => void) | undefined;
  /** Further buttons. Default: none. */
  readonly children?: ReactNode;
}

export function ChatHeader({ live, isInspecting, onInspect, children }: ChatHeaderProps) {
  const t = pageLabels();
  const row = useTaskRow(live);
  const listed = useListedTask(live.id);
  const task = row ?? listed;
  const title = useTaskTitle(live);
  const status = task && statusBadge(task.status);
  return (
    <header className="chat-header">
      <SidebarButton />
      <div className="chat-title">
        <h1>{title}</h1>
        <p>
          {listed?.agents?.[0]?.name}
          {status !== undefined && (
            <span className="status" data-look={status.look} title={task?.status_reason ?? ''}>
              {t[status.text]}
            </span>
          )}
        </p>
      </div>
      {children}
      {listed?.task_metadata?.['branch'] !== undefined && (
        <Link
          className="button chat-compare"
          data-look="quiet"
          data-size="small"
          title={t.compareWithOriginal}
          to={{ page: 'diff', id: live.id }}
        >
          {t.compareSessions}
        </Link>
      )}
      <ShareButton id={live.id} />
      {onInspect && (
        <IconButton label={t.inspector} aria-pressed={isInspecting} onClick={onInspect}>
          <TimelineIcon />
        </IconButton>
      )}
    </header>
  );
}
