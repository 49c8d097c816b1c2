import type { ComponentType } from 'react';
import { ExperimentListPage } from './experiment-list.tsx';
import { ExperimentPage } from './experiment-page.tsx';
import { loadExperimentLabels } from './labels/load-labels.ts';
import './experiments.css';

// The gallery imports these components from here, so that the build keeps the pages in one file.
export { CaseList } from './case-list.tsx';
export { VariantList } from './variant-list.tsx';

export interface ExperimentsPageProps {
  /** The rest of the address: an experiment, and what to compare. Default: the list of all experiments. */
  readonly path?: string | undefined;
}

function ExperimentsPage({ path = '' }: ExperimentsPageProps) {
  const { pathname, search } = new URL(path, 'http://page');
  const name = nameOf(pathname);
  if (name === '') return <ExperimentListPage />;
  return <ExperimentPage key={name} name={name} query={search} />;
}

function nameOf(pathname: string): string {
  try {
    return decodeURIComponent(pathname.slice(1));
  } catch {
    return pathname;
  }
}

/** Loads the texts of the pages about experiments in the language of the user, and returns the pages. */
export async function loadExperimentsPage(): Promise<ComponentType<ExperimentsPageProps>> {
  await loadExperimentLabels();
  return ExperimentsPage;
}
