/** The parts of an open folder of streams. */
import type { DurableCursor } from '../../index.js'
import type { NativeStreamFiles } from '../../native/stream-files.js'
import type { FramingLog } from '../../open.js'
import type { Catalog } from '../state/catalog.js'
import type { StreamTable } from '../state/table.js'
import type { FolderFiles } from './folder-files.js'
import type { HeldFolders } from './held-folders.js'

export interface OpenFolder {
  log: FramingLog
  catalog: Catalog
  /** Its position in the log is that of the last checkpoint. It keeps the log from trimming later records. */
  cursor: DurableCursor
  files: FolderFiles
  folders: HeldFolders
  storage: NativeStreamFiles
  table: StreamTable
  /** The position of the last complete checkpoint. */
  position: number
  /** Loads the table again from the catalog and the log. */
  load(): Promise<StreamTable>
}
