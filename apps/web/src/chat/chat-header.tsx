import { useListedTask } from '../app/app-context.ts';
import { ShareButton } from '../app/share/share-button.tsx';
import { statusBadge } from '../app/task-text.ts';
import { IconButton } from '../design/button.tsx';
import { TimelineIcon } from '../design/icons.tsx';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import type { LiveSource } from './state/live-source.ts';
import { useTaskRow, useTaskTitle } from './state/use-live.ts';

export interface ChatHeaderProps {
  readonly live: LiveSource;
  readonly isInspecting: boolean;
  readonly onInspect: (() => void) | undefined;
}

export function ChatHeader({ live, isInspecting, onInspect }: ChatHeaderProps) {
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
              {status.text}
            </span>
          )}
        </p>
      </div>
      <ShareButton id={live.id} />
      {onInspect && (
        <IconButton label="Inspector" aria-pressed={isInspecting} onClick={onInspect}>
          <TimelineIcon />
        </IconButton>
      )}
    </header>
  );
}
