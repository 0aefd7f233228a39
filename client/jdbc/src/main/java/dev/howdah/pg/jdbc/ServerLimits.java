package dev.howdah.pg.jdbc;

import java.sql.ResultSet;
import java.sql.RowIdLifetime;

/** Names, terms and limits of PostgreSQL; 0 is no limit, or one that nobody knows. */
abstract class ServerLimits extends DriverFeatures {
  /** NAMEDATALEN less one, as nearly every server is built. */
  private static final int LONGEST_NAME = 63;

  @Override
  public String getDatabaseProductName() {
    return "PostgreSQL";
  }

  @Override
  public String getDriverName() {
    return "Howdah JDBC";
  }

  @Override
  public String getIdentifierQuoteString() {
    return "\"";
  }

  @Override
  public String getNumericFunctions() {
    return "abs,acos,asin,atan,atan2,ceiling,cos,cot,degrees,exp,floor,log,log10,mod,pi,power,radians,round,sign,sin,sqrt,tan,truncate";
  }

  @Override
  public String getStringFunctions() {
    return "ascii,char,concat,lcase,left,length,ltrim,repeat,rtrim,space,substring,ucase,replace";
  }

  @Override
  public String getSystemFunctions() {
    return "database,ifnull,user";
  }

  @Override
  public String getTimeDateFunctions() {
    return "curdate,curtime,dayname,dayofmonth,dayofweek,dayofyear,hour,minute,month,monthname,now,quarter,second,week,year,timestampadd";
  }

  @Override
  public String getSearchStringEscape() {
    return "\\";
  }

  @Override
  public String getExtraNameCharacters() {
    return "";
  }

  @Override
  public String getSchemaTerm() {
    return "schema";
  }

  @Override
  public String getProcedureTerm() {
    return "function";
  }

  @Override
  public String getCatalogTerm() {
    return "database";
  }

  @Override
  public String getCatalogSeparator() {
    return ".";
  }

  @Override
  public int getMaxBinaryLiteralLength() {
    return 0;
  }

  @Override
  public int getMaxCharLiteralLength() {
    return 0;
  }

  @Override
  public int getMaxColumnNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getMaxColumnsInGroupBy() {
    return 0;
  }

  @Override
  public int getMaxColumnsInIndex() {
    return 32;
  }

  @Override
  public int getMaxColumnsInOrderBy() {
    return 0;
  }

  @Override
  public int getMaxColumnsInSelect() {
    return 1664;
  }

  @Override
  public int getMaxColumnsInTable() {
    return 1600;
  }

  @Override
  public int getMaxCursorNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getMaxIndexLength() {
    return 0;
  }

  @Override
  public int getMaxSchemaNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getMaxProcedureNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getMaxCatalogNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getMaxRowSize() {
    return 1_073_741_824;
  }

  @Override
  public int getMaxStatementLength() {
    return 0;
  }

  @Override
  public int getMaxStatements() {
    return 0;
  }

  @Override
  public int getMaxTableNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getMaxTablesInSelect() {
    return 0;
  }

  @Override
  public int getMaxUserNameLength() {
    return LONGEST_NAME;
  }

  @Override
  public int getResultSetHoldability() {
    return ResultSet.CLOSE_CURSORS_AT_COMMIT;
  }

  @Override
  public int getJDBCMajorVersion() {
    return 4;
  }

  @Override
  public int getJDBCMinorVersion() {
    return 3;
  }

  @Override
  public int getSQLStateType() {
    return sqlStateSQL;
  }

  @Override
  public RowIdLifetime getRowIdLifetime() {
    return RowIdLifetime.ROWID_UNSUPPORTED;
  }
}
