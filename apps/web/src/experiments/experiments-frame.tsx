import { Skeleton, type SkeletonProps } from '@millrace/react/controls';
import type { ReactNode } from 'react';
import { Link, type Route } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';

interface ExperimentsFrameProps {
  readonly title: string;
  /** The page above this page, and its name. */
  readonly parent: { readonly route: Route; readonly name: string };
  /** Why the data cannot be read. Undefined if it can be read. */
  readonly error: string | undefined;
  /** The shape of the content while it loads. Undefined after it was loaded. */
  readonly loading: SkeletonProps['bars'] | undefined;
  /** True if the content has the whole width. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/** The header of a page about experiments, and its states while it loads or fails. */
export function ExperimentsFrame(props: ExperimentsFrameProps) {
  const t = pageLabels();
  const { title, parent, error, loading, isWide = false, children } = props;
  return (
    <main className="overview-page">
      <header className="overview-head">
        <SidebarButton />
        <h1>{title}</h1>
        <Link className="overview-link" to={parent.route}>
          {parent.name}
        </Link>
      </header>
      <div className="overview">
        {error !== undefined && (
          <p className="overview-old" role="alert">
            {error} {t.pageRetries}
          </p>
        )}
        {loading !== undefined && error === undefined && (
          <div className="overview-card" data-wide={isWide ? '' : undefined}>
            <Skeleton label={t.loading} bars={loading} />
          </div>
        )}
        {children}
      </div>
    </main>
  );
}
