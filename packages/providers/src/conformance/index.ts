export { conformanceCases } from './conformance-cases.ts';
export { ConformanceError } from './observe.ts';
export type {
  ConformanceAnswer,
  ConformanceCall,
  ConformanceCase,
  ConformanceLack,
  ConformanceSubject,
} from './subject.ts';
