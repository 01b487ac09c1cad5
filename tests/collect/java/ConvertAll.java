import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;

/** Runs jfrconv once for each line of standard input, whose arguments are separated by tabs. */
public class ConvertAll {
    public static void main(String[] none) throws Exception {
        /* By reflection, because the class path has jfrconv only when this runs, not when it is compiled. */
        Method jfrconv = Class.forName("one.convert.Main").getMethod("main", String[].class);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) jfrconv.invoke(null, (Object) line.split("\t"));
    }
}
