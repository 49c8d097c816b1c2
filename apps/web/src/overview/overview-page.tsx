import { useApp } from '../app/app-context.ts';
import { SidebarButton } from '../app/sidebar-button.tsx';
import { Overview } from './overview.tsx';

/** The overview as a page of the shell. */
export function OverviewPage() {
  const { client, api } = useApp();
  return (
    <main className="overview-page">
      <header className="overview-head">
        <SidebarButton />
        <h1>Overview</h1>
      </header>
      <Overview client={client} api={api} />
    </main>
  );
}
