import { Inspector } from '@millrace/react/inspector';
import { useEffect, useState } from 'react';
import { useApp, useListedTask } from '../app/app-context.ts';
import { Link, navigate } from '../app/route.tsx';
import { taskTitle } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import { useBranchDialog } from './use-branch-dialog.tsx';
import './inspector-page.css';

interface InspectorPageProps {
  readonly id: string;
  /** The offset of the selected record. Undefined means the current state. */
  readonly at: number | undefined;
}

/** Minimum time between two changes of the URL. Browsers limit how often a page may change it. */
const urlMs = 250;

/** The inspector in full width, as a separate page. The URL contains the selected moment. */
export function InspectorPage({ id, at }: InspectorPageProps) {
  const t = pageLabels();
  const { client } = useApp();
  const listed = useListedTask(id);
  const title = listed === undefined ? t.session : taskTitle(listed);
  const [moment, setMoment] = useState(at);
  const [branch, dialog] = useBranchDialog(id);
  useEffect(() => setMoment(at), [at]);
  useEffect(() => {
    if (moment === at) return;
    const timer = setTimeout(
      () => navigate({ page: 'inspect', id, at: moment }, { replace: true }),
      urlMs,
    );
    return () => clearTimeout(timer);
  }, [moment, at, id]);
  useEffect(() => {
    document.title = `${t.inspector} · ${title} · Millrace`;
    return () => {
      document.title = 'Millrace';
    };
  }, [title, t.inspector]);
  return (
    <main className="inspector-page">
      <header className="chat-header">
        <SidebarButton />
        <div className="chat-title">
          <h1>{title}</h1>
          <p>{t.inspector}</p>
        </div>
        <Link
          className="button"
          data-look="plain"
          data-size="small"
          to={{ page: 'task', id, at: moment }}
        >
          {t.chat}
        </Link>
      </header>
      <h2 className="unseen">{t.spansAndRecords}</h2>
      <Inspector
        {...{ client, taskId: id, at: moment }}
        onMoment={(to) => setMoment(to)}
        onShowInChat={(to) => navigate({ page: 'task', id, at: to })}
        onBranch={branch}
      />
      {dialog}
    </main>
  );
}
