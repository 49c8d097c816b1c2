import { type ReactNode, useEffect } from 'react';
import { Link } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import './session-frame.css';

interface SessionFrameProps {
  /** The session that the page is about. */
  readonly id: string;
  /** The title of the session. */
  readonly title: string;
  /** The kind of the page, for example a comparison. */
  readonly subject: string;
  /** Buttons in the header, before the link to the chat. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page about a session that is not its chat. The header has a link to the chat. */
export function SessionFrame({ id, title, subject, actions, children }: SessionFrameProps) {
  const t = pageLabels();
  useEffect(() => {
    document.title = `${subject} · ${title} · Millrace`;
    return () => {
      document.title = 'Millrace';
    };
  }, [title, subject]);
  return (
    <main className="session-frame">
      <header className="chat-header">
        <SidebarButton />
        <div className="chat-title">
          <h1>{title}</h1>
          <p>{subject}</p>
        </div>
        {actions}
        <Link className="button" data-look="plain" data-size="small" to={{ page: 'task', id }}>
          {t.chat}
        </Link>
      </header>
      {children}
    </main>
  );
}
